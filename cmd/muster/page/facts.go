package page

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/offer"
)

// factLines say where the facts of pools come from, where the sources differ between pools;
// the values of two sources where they disagree; and the facts of the site.
func factLines(pools []offer.Pool) (lines []string) {
	whose := origins(pools)
	if whose != "" {
		lines = append(lines, whose)
	}
	var differ, site about
	for _, p := range pools {
		for _, f := range p.Facts {
			switch {
			case aside(f) && whose != "" && f.Name != "site":
				site.note(f.Name+"\x00"+f.Value+"; by "+origin(f), p.Name)
			case aside(f):
				site.note(f.Name+"\x00"+f.Value, p.Name)
			case f.Differs != "":
				differ.note(f.Name+"\x00"+f.Value+" by "+origin(f)+", "+f.Differs, p.Name)
			}
		}
	}
	return slices.Concat(lines, differ.lines(pools), site.lines(pools))
}

// lines are names and values, with the pools that they are about where that is
// not all of them.
func (a about) lines(pools []offer.Pool) (lines []string) {
	for _, text := range a.texts {
		name, value, _ := strings.Cut(text, "\x00")
		if on := a.of[text]; len(on) < len(pools) {
			name += " on " + strings.Join(on, ", ")
		}
		if value != "" {
			name += ": " + value
		}
		lines = append(lines, term.CleanLine(name))
	}
	return lines
}

// aside reports whether a fact is about the site, not about a pool, and gets a
// line of its own.
func aside(f offer.Fact) bool { return f.Name == "site" || strings.HasPrefix(f.Name, "qos ") }

// origins say which facts are of which source: those of the one that tells most
// are all that are not named. It is "" where there is one source only.
func origins(pools []offer.Pool) string {
	var names about // of each source's facts
	count := map[string]int{}
	for _, p := range pools {
		for _, f := range p.Facts {
			if !aside(f) {
				names.note(origin(f), f.Name)
				count[origin(f)]++
			}
		}
	}
	if len(names.texts) < 2 {
		return ""
	}
	slices.SortStableFunc(names.texts, func(a, b string) int { return count[a] - count[b] })
	most := len(names.texts) - 1
	var parts []string
	for _, source := range names.texts[:most] {
		parts = append(parts, strings.Join(names.of[source], ", ")+" from "+source)
	}
	return term.CleanLine("facts: " + strings.Join(parts, "; ") + "; all else from " + names.texts[most])
}

// origin is where a fact comes from, and since when.
func origin(f offer.Fact) string {
	source := f.Source
	switch source {
	case "cluster", "backend block":
		source = "the " + source
	}
	if f.Since != "" {
		source += " (" + f.Since + ")"
	}
	return source
}

// about are texts, in order of arrival, each with its subjects.
type about struct {
	texts []string
	of    map[string][]string
}

func (a *about) note(text, subject string) {
	if a.of == nil {
		a.of = map[string][]string{}
	}
	if a.of[text] == nil {
		a.texts = append(a.texts, text)
	}
	if !slices.Contains(a.of[text], subject) {
		a.of[text] = append(a.of[text], subject)
	}
}
