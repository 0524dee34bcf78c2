// Package starters holds the campaigns that `muster init -from` begins with:
// whole ones that run, whose first comment names the commands to try.
package starters

import (
	"embed"
	"strings"
)

const ending = ".muster.hcl"

//go:embed *.muster.hcl
var files embed.FS

// Names are the starters that there are, in order.
func Names() []string {
	var names []string
	entries, _ := files.ReadDir(".")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ending))
	}
	return names
}

// Source is a starter's campaign; false where there is none of the name.
func Source(name string) (string, bool) {
	src, err := files.ReadFile(name + ending)
	return string(src), err == nil
}

// Next are the commands that the head of a starter names, one a line.
func Next(src string) string {
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
