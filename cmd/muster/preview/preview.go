// Package preview is what a plan would submit: the command of every job and, for
// Slurm, what sbatch would be given, before anything is.
package preview

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/shell"
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
	}
	for i, kind := range pp.Kind {
		if kind.Starts() {
			list = append(list, start{i, lang.Run, pp.Decision(i)})
		}
	}
	return list
}

// Scripts is the command of every job that would start, as it would run where
// it is placed, of some pools; paths that only the backend knows stand by name.
// With mistakes in a command, it is what stands before them.
func Scripts(c *lang.Campaign, plan *planner.Plan, pools []offer.Pool) (string, diag.List, error) {
	var b strings.Builder
	for _, pp := range plan.Phases {
		list := starts(pp)
		if err := writeSlurm(&b, c, pp, list, pools); err != nil {
			return b.String(), nil, err
		}
		for _, s := range list {
			r, diags := pp.Phase.Render(s.cell, siteOfStart(c, pp, s, pools))
			if diags.HasErrors() {
				return b.String(), diags, nil
			}
			address := pp.Phase.Address(s.cell)
			if s.variant == lang.SmokeRun {
				address = state.SmokeAddress(address)
			}
			if s.at.Backend == "" {
				address += ", which has no place yet"
			}
			fmt.Fprintf(&b, "# %s\n%s\n", term.CleanLine(address), scriptText(r))
		}
	}
	return b.String(), nil, nil
}

func siteOfStart(c *lang.Campaign, pp *planner.PhasePlan, at start, pools []offer.Pool) lang.Site {
	d := at.at
	s := lang.Site{Variant: at.variant, Backend: d.Backend, Pool: d.Pool, GPUs: d.Shape.GPUs, CPUs: d.Shape.CPUs, Spool: "$MUSTER_JOB"}
	for _, b := range c.Backends {
		if b.Address() == d.Backend {
			s.Workdir = workdir(c, b, pools, d.Pool)
		}
	}
	if pp.Phase.Source != nil {
		s.SourceDir = path.Join(s.Workdir, ".muster/source", pp.Source.Digest)
	}
	s.Input = func(name string) []string { return inputPaths(pp.Phase, at.cell, name, s.Workdir) }
	return s
}

// workdir is a backend's as the jobs of one of its pools are told it.
func workdir(c *lang.Campaign, b *lang.Backend, pools []offer.Pool, pool string) string {
	of := slices.DeleteFunc(slices.Clone(pools), func(p offer.Pool) bool { return p.Backend != b.Address() })
	return site.AtHome(site.Workdir(c, b), of, pool)
}

// inputPaths is where an input's files lie when they lie in the same workdir.
func inputPaths(p *lang.Phase, i int, name, workdir string) []string {
	var out []string
	for _, in := range p.Inputs {
		if in.Name != name {
			continue
		}
		for _, m := range in.Members(in.GroupOf(i)) {
			out = append(out, path.Join(workdir, in.From.OutputPath(m, in.Output, lang.Run)))
		}
	}
	return out
}

func scriptText(r lang.Rendered) string {
	var b strings.Builder
	if r.Dir != "" {
		b.WriteString("cd " + folder(r.Dir) + "\n")
	}
	for _, e := range r.Env {
		b.WriteString("export " + e.Name + "=" + quoted(e.Value) + "\n")
	}
	if r.Setup != "" {
		b.WriteString(strings.TrimSpace(r.Setup) + "\n")
	}
	if len(r.Argv) > 0 {
		words := make([]string, len(r.Argv))
		for i, w := range r.Argv {
			words[i] = quoted(w)
		}
		b.WriteString("exec " + strings.Join(words, " ") + "\n")
	}
	b.WriteString(strings.TrimRight(r.Shell, "\n") + "\n")
	return term.Clean(b.String())
}

// folder is a path as a POSIX shell takes it, whose ~ is a home.
func folder(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		return "~/" + shell.Quote(rest)
	}
	if dir == "~" {
		return dir
	}
	return shell.Quote(dir)
}

// quoted is a word as a POSIX shell takes it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
