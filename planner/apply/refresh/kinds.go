package refresh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// mostKinds is how many distinct jobs of a phase are rendered to find their needs; a note
// counts those beyond.
const mostKinds = 10_000

// A kind is the open jobs of a group that need the same where they start: one
// image, one setup, the same files. One check serves them all.
type kind struct {
	phase   *lang.Phase
	group   jobGroup
	alike   grid.Projection
	classes map[int]bool // of alike
	check   providers.Check
}

// kinds are the questions to a backend: of each group the distinct needs of
// its remaining jobs.
func (pf *preflight) kinds(a *ask) (out []*kind) {
	for _, g := range a.groups {
		if p := pf.phase(g.Phase); p != nil && !pf.idle[g.Phase] {
			out = append(out, pf.kindsOf(a, p, g)...)
		}
	}
	return out
}

func (pf *preflight) kindsOf(a *ask, p *lang.Phase, g jobGroup) (out []*kind) {
	v := variant(g)
	setup := len(site.Setup(a.lang, "")) > 0 || p.HasSetup(v)
	alike := p.Alike(v, setup)
	cells := pf.firsts(p, g, alike)
	if len(cells) > mostKinds {
		pf.note(p, fmt.Sprintf("image, setup and files are looked for of %d of %d jobs that differ in them", mostKinds, len(cells)))
		cells = cells[:mostKinds]
	}
	had := map[string]*kind{}
	for _, i := range cells {
		c, ok := pf.check(a, p, g, i)
		if !ok {
			continue
		}
		key := needs(c)
		k := had[key]
		if k == nil {
			k = &kind{phase: p, group: g, alike: alike, classes: map[int]bool{}, check: c}
			had[key] = k
			out = append(out, k)
		}
		k.classes[alike.Of(i)] = true
	}
	return out
}

func variant(g jobGroup) lang.Variant {
	if g.Smoke {
		return lang.SmokeRun
	}
	return lang.Run
}

// firsts has the first cell of each class of a group that is still to be done.
func (pf *preflight) firsts(p *lang.Phase, g jobGroup, alike grid.Projection) (out []int) {
	seen := make([]bool, alike.Len())
	left := len(seen)
	pf.each(p, g, func(i int) bool {
		c := alike.Of(i)
		if seen[c] || pf.done(p, g, i) {
			return true
		}
		seen[c] = true
		out = append(out, i)
		left--
		return left > 0
	})
	return out
}

// cells are the jobs of a kind that are still to be done.
func (pf *preflight) cells(k *kind) (out []int) {
	pf.each(k.phase, k.group, func(i int) bool {
		if k.classes[k.alike.Of(i)] && !pf.done(k.phase, k.group, i) {
			out = append(out, i)
		}
		return true
	})
	return out
}

// check is the check that a cell needs of a backend.
func (pf *preflight) check(a *ask, p *lang.Phase, g jobGroup, i int) (providers.Check, bool) {
	workdir := a.conf.Workdir
	if oneHome(a.offers) {
		workdir = site.AtHome(workdir, a.offers, "")
	} // else each host reads `~` as its own
	c := providers.Check{Addresses: []string{p.Address(i)}, Workdir: workdir, Shape: g.Shape, Options: g.Options[a.conf.Type]}
	if !stays(p, a.name) {
		c.Disk = g.Shape.Disk
	} // else the volume is checked for the need of all of them
	var made []string // placeholders for the files of other jobs
	at := lang.Target{Variant: variant(g), Workdir: workdir, SourceDir: workdir, Spool: workdir, Backend: a.name, GPUs: g.Shape.GPUs, CPUs: max(g.Shape.CPUs, 1),
		Input: func(name string) []string {
			made = append(made, workdir+"/"+name)
			return made[len(made)-1:]
		}}
	r, diags := p.Render(i, at)
	if diags.HasErrors() {
		return c, false // the planner says so
	}
	c.Setup = site.Setup(a.lang, r.Setup)
	if !slices.Contains(made, r.Image) { // else another job makes it
		c.Image = r.Image
	}
	c.Env = site.Env(a.lang)
	for _, e := range r.Env {
		c.Env = append(c.Env, providers.EnvVar{Name: e.Name, Value: e.Value})
	}
	if !g.Smoke {
		for _, f := range r.Files {
			c.Require = append(c.Require, providers.Require{Path: f.Path, MinSize: f.MinSize, Message: f.Message})
		}
	}
	return c, true
}

// needs tells the checks of one group apart. Of the environment only the
// variables that a setup names count: another seed in it is no other need.
func needs(c providers.Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q", c.Image, c.Setup)
	fmt.Fprintf(&b, " %q", c.SetupEnv())
	for _, r := range c.Require {
		fmt.Fprintf(&b, " %q>=%d", r.Path, r.MinSize)
	}
	return b.String()
}

// oneHome reports whether `~` is the same folder in all pools.
func oneHome(pools []offer.Pool) bool {
	return !slices.ContainsFunc(pools, func(p offer.Pool) bool { return p.Home != pools[0].Home })
}

// note names the jobs that were not checked.
func (pf *preflight) note(p *lang.Phase, what string) {
	pf.answers.tell(diag.Diagnostic{Severity: diag.Warning, Summary: "Not everything was looked at beforehand", Detail: what, Address: "phase." + p.Name, Subject: p.Range.Ptr()})
}
