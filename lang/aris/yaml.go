package aris

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"gopkg.in/yaml.v3"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
)

type hclRange = hcl.Range

// The documented form `args: {seed: ${seed}}` is not YAML: a brace ends a
// plain value inside a flow mapping. So ${ } and a {N} that clings to a word
// are hidden behind two private characters while the file is parsed.
const (
	open  = '\uE0F0' // ${
	brace = '\uE0F1' // {
	shut  = '\uE0F2' // }
)

var clinging = lazyregexp.New(`([A-Za-z0-9_./=-])\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// hide replaces ${ … } on one line, innermost too, by characters that mean
// nothing in YAML.
func hide(src string) string {
	src = clinging.ReplaceAllString(src, "${1}"+string(brace)+"${2}"+string(shut))
	var b strings.Builder
	for line := range strings.Lines(src) {
		depth := 0
		closes := strings.Count(line, "}")
		for i := 0; i < len(line); i++ {
			switch {
			case strings.HasPrefix(line[i:], "${") && closes > 0:
				b.WriteRune(open)
				depth++
				i++
			case line[i] == '}':
				closes--
				if depth == 0 {
					b.WriteByte('}')
					continue
				}
				depth--
				b.WriteRune(shut)
			default:
				b.WriteByte(line[i])
			}
		}
	}
	return b.String()
}

var shown = strings.NewReplacer(string(open), "${", string(brace), "{", string(shut), "}")

func readYAML(name string, src []byte) (*node, diag.List) {
	var ds diag.List
	text := string(src)
	if !utf8.ValidString(text) || strings.ContainsAny(text, string([]rune{open, brace, shut})) {
		ds.Errorf("The manifest cannot be read", "%s is not UTF-8 text, or holds characters of Unicode's private area. Save it as UTF-8.", name)
		return nil, ds
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(hide(text))))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, ds
	}
	if err != nil {
		line, what := yamlError(err)
		ds.Errorat(lineStart(name, src, line), "The manifest is not valid YAML", "%s.", what)
		return nil, ds
	}
	if dec.Decode(&more) == nil {
		ds.Errorat(lineStart(name, src, more.Line), "Several documents in one file", "A manifest is one document. Put what follows the --- into a file of its own.")
	}
	r := &yamlReader{name: name, starts: lineStarts(src), ds: &ds}
	return r.node(&doc, 0), ds
}

var yamlLine = lazyregexp.New(`line (\d+): `)

// yamlError takes the line out of the parser's message.
func yamlError(err error) (line int, what string) {
	what = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1])
		what = strings.Replace(what, m[0], "", 1)
	}
	return line, strings.ToUpper(what[:1]) + shown.Replace(what[1:])
}

func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func lineStart(name string, src []byte, line int) hclRange {
	starts := lineStarts(src)
	return lineRange(name, line, 1, starts[min(max(0, line-1), len(starts)-1)])
}

type yamlReader struct {
	name   string
	starts []int
	ds     *diag.List
	nodes  int
}

// node copies a YAML node, aliases and merges resolved.
func (r *yamlReader) node(y *yaml.Node, depth int) *node {
	n := &node{at: lineRange(r.name, y.Line, y.Column, r.starts[min(max(0, y.Line-1), len(r.starts)-1)])}
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		if !r.ds.HasErrors() {
			r.ds.Errorat(n.at, "The manifest is too large", "It is nested deeper than %d, or its aliases unfold to more than %d values.", maxDepth, maxNodes)
		}
		return n
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) > 0 {
			return r.node(y.Content[0], depth+1)
		}
	case yaml.AliasNode:
		return r.node(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = list
		for _, c := range y.Content {
			n.items = append(n.items, r.node(c, depth+1))
		}
	case yaml.MappingNode:
		n.kind = mapping
		r.members(n, y, depth)
		duplicates(n, r.ds)
	default:
		n.text = shown.Replace(y.Value)
		n.plain = y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	}
	return n
}

func (r *yamlReader) members(n *node, y *yaml.Node, depth int) {
	var merged []member
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := r.node(y.Content[i], depth+1), r.node(y.Content[i+1], depth+1)
		if y.Content[i].Tag != "!!merge" {
			n.keys = append(n.keys, member{k, v})
			continue
		}
		for _, from := range append([]*node{v}, v.items...) {
			merged = append(merged, from.keys...)
		}
	}
	for _, m := range merged {
		if !n.has(m.key.text) {
			n.keys = append(n.keys, m)
		}
	}
}

func (n *node) has(key string) bool {
	for _, m := range n.keys {
		if m.key.text == key {
			return true
		}
	}
	return false
}
