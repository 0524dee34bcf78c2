// Package preview lists the submissions of a plan beforehand: the command of
// every job and the scripts for a scheduler.
package preview

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A start is a launch that a plan intends.
type start struct {
	cell    int
	variant lang.Variant
	at      place.Decision
}

// starts are the launches that a plan intends of a phase, smokes first.
func starts(pp *planner.PhasePlan) (list []start) {
	if g := pp.Smoke; g != nil {
		for _, cell := range g.Run {
			list = append(list, start{cell, lang.SmokeRun, g.Place})
		}
		for _, cell := range g.Canary {
			list = append(list, start{cell, lang.CanaryRun, g.Place})
		}
	}
	for i, kind := range pp.Kind {
		if kind.Starts() {
			list = append(list, start{i, lang.Run, pp.Decision(i)})
		}
	}
	return list
}

// A Preview is the page shown before a submission.
type Preview struct {
	Campaign  *lang.Campaign
	Plan      *planner.Plan
	Pools     []offer.Pool
	Scripters map[string]plugins.Scripter // by type of backend
	// Whole selects jobs whose commands are all shown, and no others; nil = of each
	// shape the first and the last, and what differs between its jobs.
	Whole func(address string) bool
}

// Scripts is, for each shape of jobs that would start, the script that a scheduler
// would be given and commands of jobs, as they would run where they are placed; paths
// that only the backend knows are shown by name. With mistakes in a command, it ends
// before them.
func (v Preview) Scripts() (string, diag.List, error) {
	var b strings.Builder
	for _, pp := range v.Plan.Phases {
		likes, diags := v.likes(pp)
		if diags.HasErrors() {
			return b.String(), diags, nil
		}
		for _, like := range likes {
			shown, rest := like.shown(pp.Phase, v.Whole)
			if len(shown) == 0 {
				continue
			}
			if err := v.writeSubmission(&b, like); err != nil {
				return b.String(), nil, err
			}
			for _, s := range shown {
				r, diags := pp.Phase.Render(s.cell, v.siteOfStart(pp, s))
				if diags.HasErrors() {
					return b.String(), diags, nil
				}
				address := addressOf(pp.Phase, s)
				if s.at.Backend == "" {
					address += ", which has no place yet"
				}
				fmt.Fprintf(&b, "# %s\n%s\n", term.CleanLine(address), scriptText(r))
			}
			if rest > 0 {
				b.WriteString(term.Clean(like.differences(pp.Phase, rest)))
			}
		}
	}
	return b.String(), nil, nil
}

func addressOf(p *lang.Phase, s start) string {
	if s.variant.Smoke() {
		return state.SmokeAddress(p.Address(s.cell))
	}
	return p.Address(s.cell)
}

// shown are the launches of like jobs whose commands are shown, and how many more
// there are.
func (l *likeJobs) shown(p *lang.Phase, whole func(string) bool) (list []start, rest int) {
	if whole == nil {
		if n := len(l.starts); n > 2 {
			return []start{l.starts[0], l.starts[n-1]}, n - 2
		}
		return l.starts, 0
	}
	for _, s := range l.starts {
		if whole(p.Address(s.cell)) {
			list = append(list, s)
		}
	}
	return list, 0
}

// valuesShown is how many values of an axis are shown before the last one.
const valuesShown = 4

// differences is a table of the axes in which like jobs differ.
func (l *likeJobs) differences(p *lang.Phase, rest int) string {
	var names []string
	values := map[string][]string{}
	seen := map[[2]string]bool{}
	for _, s := range l.starts {
		axes := p.Axes(s.cell)
		for _, name := range slices.Sorted(maps.Keys(axes)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if key := [2]string{name, axes[name]}; !seen[key] {
				seen[key] = true
				values[name] = append(values[name], axes[name])
			}
		}
	}
	width := 0
	for _, name := range names {
		width = max(width, term.Width(name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# and %s between these two, which differ in:\n", units.Count(rest, "job"))
	for _, name := range names {
		list := values[name]
		if len(list) < 2 {
			continue
		}
		text := strings.Join(list, ", ")
		if n := len(list); n > valuesShown+1 {
			text = fmt.Sprintf("%s, … %s (%s)", strings.Join(list[:valuesShown], ", "), list[n-1], units.Count(n, "value"))
		}
		fmt.Fprintf(&b, "#   %s%s  %s\n", name, strings.Repeat(" ", width-term.Width(name)), text)
	}
	fmt.Fprintf(&b, "# All of one: muster plan -show-scripts=%s\n\n", shell.Enclose(p.Address(l.starts[1].cell)))
	return b.String()
}

func (v Preview) siteOfStart(pp *planner.PhasePlan, at start) lang.Target {
	c, pools := v.Campaign, v.Pools
	d := at.at
	s := lang.Target{Variant: at.variant, Backend: d.Backend, Pool: d.Pool, GPUs: d.Shape.GPUs, CPUs: d.Shape.CPUs, Spool: "$MUSTER_JOB"}
	for _, b := range c.Backends {
		if b.Address() == d.Backend {
			s.Workdir = workdir(c, b, pools, d.Pool)
		}
	}
	if pp.Phase.Source != nil {
		s.SourceDir = path.Join(s.Workdir, ".muster/source", pp.Source.Digest)
	}
	s.Input = func(name string) []string {
		for _, in := range pp.Phase.Raw {
			if in.Name == name {
				return site.RawAt(c.Dir, in, pp.RawFiles(in, at.cell), d.Backend, s.Workdir)
			}
		}
		return v.inputPaths(pp, at.cell, name, s.Workdir)
	}
	return s
}

// workdir is a backend's workdir as jobs of one of its pools see it.
func workdir(c *lang.Campaign, b *lang.Backend, pools []offer.Pool, pool string) string {
	of := slices.DeleteFunc(slices.Clone(pools), func(p offer.Pool) bool { return p.Backend != b.Address() })
	return site.AtHome(site.Workdir(c, b), of, pool)
}

// inputPaths is where an input's files are when they are in the same workdir.
func (v Preview) inputPaths(pp *planner.PhasePlan, i int, name, workdir string) []string {
	var out []string
	for _, in := range pp.Phase.Inputs {
		if in.Name != name {
			continue
		}
		read, _ := v.Plan.Reads(pp, in, i)
		for _, m := range read {
			out = append(out, path.Join(workdir, in.From.OutputPath(m, in.Output, lang.Run)))
		}
	}
	return out
}

func scriptText(r lang.Rendered) string {
	var b strings.Builder
	if r.Dir != "" {
		b.WriteString("cd " + shellFolder(r.Dir) + "\n")
	}
	for _, e := range r.Env {
		b.WriteString("export " + e.Name + "=" + shell.Enclose(e.Value) + "\n")
	}
	if r.Setup != "" {
		b.WriteString(strings.TrimSpace(r.Setup) + "\n")
	}
	if len(r.Argv) > 0 {
		words := make([]string, len(r.Argv))
		for i, w := range r.Argv {
			words[i] = shell.Enclose(w)
		}
		b.WriteString("exec " + strings.Join(words, " ") + "\n")
	}
	b.WriteString(strings.TrimRight(r.Shell, "\n") + "\n")
	return term.Clean(b.String())
}

// shellFolder is a path as a POSIX shell takes it, whose ~ is a home.
func shellFolder(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		return "~/" + shell.Quote(rest)
	}
	if dir == "~" {
		return dir
	}
	return shell.Quote(dir)
}
