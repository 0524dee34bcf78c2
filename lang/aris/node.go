package aris

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
)

// A node is a value of the manifest and its place.
type node struct {
	kind kind
	// text of a scalar, as written; plain says that it stood without quotes,
	// so that it may be a number, a bool or null.
	text  string
	plain bool
	json  bool     // JSON's words, not YAML 1.1's
	items []*node  // of a list
	keys  []member // of a mapping, in the order of the file
	at    hcl.Range
}

type member struct{ key, val *node }

type kind int

const (
	scalar kind = iota
	list
	mapping
)

func (k kind) String() string { return [...]string{"a single value", "a list", "a mapping"}[k] }

// Bounds of the input: aliases and nesting multiply.
const (
	maxNodes = 2_000_000
	maxDepth = 64
)

// read parses a manifest: JSON when it is JSON, else YAML.
func read(name string, src []byte) (*node, diag.List) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var root *node
	var ds diag.List
	if root, ok := readLines(name, src); ok {
		return root, ds
	}
	if looksLikeJSON(name, src) {
		root, ds = readJSON(name, src)
	} else {
		root, ds = readYAML(name, src)
	}
	if ds.HasErrors() || root == nil || root.kind != mapping {
		if at, why, ok := wrongLine(name, src); ok {
			ds = nil
			ds.Append(diag.Diagnostic{Severity: diag.Error, Summary: "Not a queue line", Detail: why + ". A queue line is CONFIG TASK [EPOCHS], and a comment begins with #.", Subject: &at})
		}
	}
	if ds.HasErrors() {
		return nil, ds
	}
	if root == nil || root.kind != mapping {
		ds.Errorf("Not a manifest", "%s does not hold a mapping such as `project: …`. A manifest has jobs, or grid and template, or phases.", name)
		return nil, ds
	}
	return root, ds
}

func looksLikeJSON(name string, src []byte) bool {
	trimmed := bytes.TrimSpace(src)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	return strings.HasSuffix(strings.ToLower(name), ".json") || bytes.HasPrefix(bytes.TrimSpace(trimmed[1:]), []byte(`"`))
}

// lineRange is a range of one point; excerpts show its line.
func lineRange(name string, line, col int, offset int) hcl.Range {
	p := hcl.Pos{Line: max(1, line), Column: max(1, col), Byte: max(0, offset)}
	return hcl.Range{Filename: name, Start: p, End: p}
}

// duplicates reports keys that are written twice: the later one would win silently.
func duplicates(n *node, ds *diag.List) {
	seen := map[string]*node{}
	for _, m := range n.keys {
		if first := seen[m.key.text]; first != nil {
			ds.Errorat(m.key.at, "Duplicate key", "%q is already in line %d; the queue would silently use the later one. Remove one.", clip(m.key.text), first.at.Start.Line)
		}
		seen[m.key.text] = m.key
	}
}

// get is the value of a key, nil when it is not there or null.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.keys {
		if m.key.text == key && !m.val.null() {
			return m.val
		}
	}
	return nil
}

// null reports an empty value, ~ or null.
func (n *node) null() bool {
	if n.kind != scalar || !n.plain {
		return false
	}
	switch n.text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

const clipAt = 60 // runes shown of a foreign text

func clip(s string) string {
	if r := []rune(s); len(r) > clipAt {
		return string(r[:clipAt]) + "…"
	}
	return s
}
