package aris

import (
	"path"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// defaultEpochs is what a queue line without a third word means.
const defaultEpochs = "20"

var (
	queueLine = lazyregexp.New(`^(\S+)\s+([^\s:]+)(?:\s+(\d+))?$`)
	configure = lazyregexp.New(`\.(ya?ml|json|toml|py|cfg|ini|conf)$`)
)

// readLines reads queue lines, `CONFIG TASK [EPOCHS]`, as the manifest of explicit jobs
// that they mean; false where the text is something else. A job has the name of its
// config; what comes after # is a comment.
func readLines(name string, src []byte) (*node, bool) {
	jobs := &node{kind: list}
	offset, n := 0, 0
	seen := map[string]int{}
	for line := range strings.Lines(string(src)) {
		n++
		text, _, _ := strings.Cut(line, "#")
		at := lineRange(name, n, 1, offset)
		offset += len(line)
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		m := queueLine.FindStringSubmatch(text)
		if m == nil || strings.ContainsAny(m[1], `{}[]":`) || !strings.Contains(m[1], "/") && !configure.MatchString(m[1]) {
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
