package main

import (
	"embed"
	"strings"
)

const starterEnding = ".muster.hcl"

// starterFiles are the campaigns that `muster init -from` copies. Each is complete and
// runs; its first comment lists the commands to try.
//
//go:embed starters/*.muster.hcl
var starterFiles embed.FS

// starterNames are the starters that there are, in order.
func starterNames() []string {
	var names []string
	entries, _ := starterFiles.ReadDir("starters")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), starterEnding))
	}
	return names
}

// starterSource is a starter's campaign; false where there is none of the name.
func starterSource(name string) (string, bool) {
	src, err := starterFiles.ReadFile("starters/" + name + starterEnding)
	return string(src), err == nil
}

// starterNext are the commands that the head of a starter names, one a line.
func starterNext(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		rest, comment := strings.CutPrefix(line, "#")
		if !comment {
			break
		}
		if strings.HasPrefix(rest, "   muster ") {
			b.WriteString(" " + rest)
		}
	}
	return b.String()
}
