package aris

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// defaultEpochs is the number of epochs of a queue line without a third word.
const defaultEpochs = "20"

var (
	queueLine = lazyregexp.New(`^(\S+)\s+([^\s:]+)(?:\s+(\d+))?$`)
	configure = lazyregexp.New(`\.(ya?ml|json|toml|py|cfg|ini|conf)$`)
)

// readLines reads queue lines, `CONFIG TASK [EPOCHS]`, as a manifest of explicit jobs;
// false where the text is something else. A job has the name of its config; # begins a
// comment.
func readLines(name string, src []byte) (*node, bool) {
	jobs := &node{kind: list}
	seen := map[string]int{}
	for at, text := range lines(name, src) {
		m, why := parseLine(text)
		if why != "" {
			return nil, false
		}
		word := func(s string) *node { return &node{kind: scalar, text: s, at: at} }
		epochs := m[3]
		if epochs == "" {
			epochs = defaultEpochs
		}
		id := configure.ReplaceAllString(path.Base(m[1]), "")
		if seen[id]++; seen[id] > 1 { // the same config for another task
			id += "_" + m[2]
		}
		jobs.items = append(jobs.items, &node{kind: mapping, at: at, keys: []member{
			{word("id"), word(id)}, {word("args"), &node{kind: list, at: at, items: []*node{word(m[1]), word(m[2]), word(epochs)}}},
		}})
	}
	root := &node{kind: mapping, at: lineRange(name, 1, 1, 0)}
	root.keys = []member{{&node{kind: scalar, text: "jobs", at: root.at}, jobs}}
	return root, len(jobs.items) > 0
}

// lines are those of a text that hold more than a comment, trimmed, and where they are.
func lines(name string, src []byte) iter.Seq2[hcl.Range, string] {
	return func(yield func(hcl.Range, string) bool) {
		offset, n := 0, 0
		for line := range strings.Lines(string(src)) {
			n++
			text, _, _ := strings.Cut(line, "#")
			at := lineRange(name, n, 1, offset)
			offset += len(line)
			if text = strings.TrimSpace(text); text != "" && !yield(at, text) {
				return
			}
		}
	}
}

// parseLine returns the words of a queue line in m[1:], or why the text is none.
func parseLine(text string) (m []string, why string) {
	m = queueLine.FindStringSubmatch(text)
	switch {
	case m == nil:
		return nil, "it is not two words, or two and a whole number of epochs"
	case strings.ContainsAny(m[1], `{}[]":`):
		return nil, "its config has a character that no path has there"
	case !strings.Contains(m[1], "/") && !configure.MatchString(m[1]):
		return nil, m[1] + " is not the path of a config: it has neither a folder nor an ending such as .yaml"
	}
	return m, ""
}

// wrongLine is the first line that makes a text of queue lines none, and why; false where
// fewer than half of its lines are queue lines.
func wrongLine(name string, src []byte) (first hcl.Range, why string, ok bool) {
	right, wrong := 0, 0
	for at, text := range lines(name, src) {
		_, w := parseLine(text)
		if w == "" {
			right++
			continue
		}
		if wrong++; wrong == 1 {
			first, why = at, fmt.Sprintf("%q: %s", text, w)
		}
	}
	return first, why, wrong > 0 && right >= wrong
}
