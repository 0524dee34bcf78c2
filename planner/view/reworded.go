package view

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/change"
)

// reworded shows only the changed words of a rewritten text: "command: now
// with --lr 0.1". So jobs whose commands differ in the cell, and were changed
// alike, share one row. An option stays with its value. It is false for a text
// of one word, and where nothing was kept.
func reworded(r change.Reason) (string, bool) {
	old, now := strings.Fields(r.Old), strings.Fields(r.New)
	if len(old) < 2 || len(now) < 2 {
		return "", false
	}
	if slices.Equal(old, now) {
		return r.Field + ": other spaces", true
	}
	from := 0
	for from < min(len(old), len(now)) && old[from] == now[from] {
		from++
	}
	kept := 0 // at the end
	for kept < min(len(old), len(now))-from && old[len(old)-1-kept] == now[len(now)-1-kept] {
		kept++
	}
	if from+kept == 0 {
		return "", false
	}
	if from > 0 && strings.HasPrefix(old[from-1], "-") {
		from--
	}
	was, is := strings.Join(old[from:len(old)-kept], " "), strings.Join(now[from:len(now)-kept], " ")
	switch {
	case was == "":
		return r.Field + ": now with " + is, true
	case is == "":
		return r.Field + ": without " + was, true
	}
	return r.Field + ": " + was + " → " + is, true
}
