package checklist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/place"
)

// shown is how many different texts a point spells out.
const shown = 3

// some joins texts; of many the first.
func some(texts []string) string {
	if n := len(texts) - shown; n > 0 {
		texts = append(slices.Clone(texts[:shown]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(texts, "; ")
}

// each says something of every place, the same only once.
func each(places []place.Decision, say func(place.Decision) string) string {
	var texts []string
	for _, d := range places {
		if text := say(d); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return some(texts)
}

// at is "slurm.alpine aa100".
func at(d place.Decision) string { return strings.TrimSuffix(d.Backend+" "+d.Pool, " ") }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
