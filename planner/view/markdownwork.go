package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner"
)

// commandWidth is how many columns of a command a comment shows.
const commandWidth = 160

// markdownWork says of each phase that starts what its jobs are: how many,
// one for each of what, what each takes, and the command of the first.
func markdownWork(b *strings.Builder, p *planner.Plan) {
	n := 0
	for _, pp := range p.Phases {
		first := slices.IndexFunc(pp.Kind, planner.Kind.Starts)
		if first < 0 {
			continue
		}
		if n++; n == 1 {
			b.WriteString("**What the jobs are**\n\n")
		}
		if n <= markdownRows {
			fmt.Fprintf(b, "- %s: %s\n", code(pp.Phase.Name), markdownJobs(pp, first))
		}
	}
	if n > markdownRows {
		fmt.Fprintf(b, "- … and %s\n", plural(n-markdownRows, "more phase"))
	}
	if n > 0 {
		b.WriteByte('\n')
	}
}

// markdownJobs is "252 jobs, one for each `N` (12) and `seed` (21), each on
// 1×A100 for 4h at the longest. The first runs `python train.py`".
func markdownJobs(pp *planner.PhasePlan, first int) string {
	n := 0
	for _, k := range pp.Kind {
		if k.Starts() {
			n++
		}
	}
	text := jobs(n, "", "")
	if all := pp.Phase.Len(); n < all {
		text = count(n) + " of " + jobs(all, "", "")
	}
	if over := axes(pp.Phase.Grid); over != "" {
		text += ", one for each " + over
	}
	d := pp.Decision(first)
	if s := shape(d); s != "" {
		text += ", " + s + " each"
	}
	if d.Shape.Walltime > 0 {
		text += ", " + units.ShortDuration(d.Shape.Walltime) + " at the longest"
	}
	if most := pp.Phase.Retry.MaxAttempts; most > 1 {
		text += fmt.Sprintf(", launched up to %d times where it fails", most)
	}
	verb := ". It runs "
	if n > 1 {
		verb = ". The first runs "
	}
	return text + verb + code(clip(command(pp.Phase, first), commandWidth))
}

// command is what a cell runs, as written for it, on one line.
func command(p *lang.Phase, cell int) string {
	var words []string
	for _, f := range p.Fields(cell, lang.Run) {
		if f.Name == "command" || strings.HasPrefix(f.Name, "command[") {
			words = append(words, strings.Fields(f.Text)...)
		}
	}
	return strings.Join(words, " ")
}

// axes is "`N` (12) and `seed` (21)": what a grid is spread over.
func axes(g *grid.Grid) string {
	const shown = 5
	var names []string
	for i, a := range g.Axes {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", len(g.Axes)-shown))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", code(a.Name), count(len(a.Values))))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// markdownFailures says which phases lost launches so far, and to what: what
// failed before may do so again.
func markdownFailures(p *planner.Plan) (out []string) {
	for _, pp := range p.Phases {
		launches, failed, by := 0, 0, map[string]int{}
		for _, job := range pp.Records {
			if job == nil {
				continue
			}
			for i := range job.Attempts {
				at := &job.Attempts[i]
				if at.Ended.IsZero() {
					continue
				}
				if launches++; at.Class != "" {
					failed++
					by[at.Class]++
				}
			}
		}
		if failed == 0 {
			continue
		}
		if len(out) == markdownRows/4 {
			return append(out, "… and launches of other phases failed, too: `muster report`")
		}
		out = append(out, fmt.Sprintf("**failed so far**: %s of %s launches of %s (%s)", count(failed), count(launches), code(pp.Phase.Name), mostOf(by)))
	}
	return out
}

// mostOf is "8 × oom_gpu, 4 × walltime": the most frequent first.
func mostOf(by map[string]int) string {
	classes := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return by[b] - by[a]
		}
		return strings.Compare(a, b)
	})
	var out []string
	for i, c := range classes {
		if i == 3 {
			out = append(out, "…")
			break
		}
		out = append(out, count(by[c])+" × "+escape(clip(c, 40)))
	}
	return strings.Join(out, ", ")
}
