package refresh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// mostKinds is how many distinct jobs of a phase are rendered to see what they
// need; those beyond are told of, not looked at.
const mostKinds = 10_000

// A kind is the open jobs of a group that need the same where they start: one
// image, one setup, the same files. One check stands for them all.
type kind struct {
	phase   *lang.Phase
	group   questions.Group
	alike   grid.Projection
	classes map[int]bool // of alike
	check   providers.Check
}

// kinds are what a backend is asked about: of each group the distinct needs of
// the jobs that are still to be done.
func (o *observer) kinds(a *ask) (out []*kind) {
	for _, g := range a.groups {
		if p := o.phase(g.Phase); p != nil && !o.idle[g.Phase] {
			out = append(out, o.kindsOf(a, p, g)...)
		}
	}
	return out
}

func (o *observer) kindsOf(a *ask, p *lang.Phase, g questions.Group) (out []*kind) {
	v := variant(g)
	setup := len(site.Setup(a.lang, "")) > 0 || p.HasSetup(v)
	alike := p.Alike(v, setup)
	cells := o.firsts(p, g, alike)
	if len(cells) > mostKinds {
		o.note(p, fmt.Sprintf("image, setup and files are looked for of %d of %d jobs that differ in them", mostKinds, len(cells)))
		cells = cells[:mostKinds]
	}
	had := map[string]*kind{}
	for _, i := range cells {
		c, ok := o.check(a, p, g, i)
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

func variant(g questions.Group) lang.Variant {
	if g.Smoke {
		return lang.SmokeRun
	}
	return lang.Run
}

// firsts is of each class the first cell of a group that is still to be done.
func (o *observer) firsts(p *lang.Phase, g questions.Group, alike grid.Projection) (out []int) {
	seen := make([]bool, alike.Len())
	left := len(seen)
	o.each(p, g, func(i int) bool {
		c := alike.Of(i)
		if seen[c] || o.done(p, g, i) {
			return true
		}
		seen[c] = true
		out = append(out, i)
		left--
		return left > 0
	})
	return out
}

// each calls fn with the cells of a group until it returns false.
func (o *observer) each(p *lang.Phase, g questions.Group, fn func(int) bool) {
	v := variant(g)
	request := p.RequestOf(g.First, v)
	if g.Smoke {
		for _, i := range p.Smoke.Cells {
			if p.RequestOf(i, v) == request && !fn(i) {
				return
			}
		}
		return
	}
	for i := g.First; i < p.Len(); i++ {
		if p.RequestOf(i, v) == request && !fn(i) {
			return
		}
	}
}

// done reports whether a job has nothing left to run: it completed as it is
// defined now.
func (o *observer) done(p *lang.Phase, g questions.Group, i int) bool {
	if g.Smoke || o.State == nil || len(o.State.Jobs) == 0 {
		return false
	}
	j := o.State.Jobs[p.Address(i)]
	return j != nil && j.Status == state.Completed && j.Definition == o.definition(p)
}

// cells are the jobs of a kind that are still to be done.
func (o *observer) cells(k *kind) (out []int) {
	o.each(k.phase, k.group, func(i int) bool {
		if k.classes[k.alike.Of(i)] && !o.done(k.phase, k.group, i) {
			out = append(out, i)
		}
		return true
	})
	return out
}

// check is what a cell asks of a backend.
func (o *observer) check(a *ask, p *lang.Phase, g questions.Group, i int) (providers.Check, bool) {
	workdir := a.conf.Workdir
	if oneHome(a.offers) {
		workdir = site.AtHome(workdir, a.offers, "")
	} // else each host reads `~` as its own
	c := providers.Check{Addresses: []string{p.Address(i)}, Workdir: workdir, Shape: g.Shape, Options: g.Options[a.conf.Type]}
	if !stays(p, a.name) {
		c.Disk = g.Shape.Disk
	} // else its volume is asked for what all of them need
	var made []string // what stands for the files of other jobs
	at := lang.Site{Variant: variant(g), Workdir: workdir, SourceDir: workdir, Spool: workdir, Backend: a.name, GPUs: g.Shape.GPUs, CPUs: max(g.Shape.CPUs, 1),
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

// needs is what tells checks of one group apart. Of the environment only what
// a setup names counts: another seed in it is no other need.
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

// definition is the digest of a phase as it is now.
func (o *observer) definition(p *lang.Phase) string { return p.Definition().Digest }

// note says what was not looked at.
func (o *observer) note(p *lang.Phase, what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out.Diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "not everything was looked at beforehand", Detail: what, Address: "phase." + p.Name, Subject: p.Range.Ptr()})
}

// finished are the phases that have nothing left to run, as the state says.
func (o *observer) finished() map[string]bool {
	done := map[string]int{}
	phase, n, defined := "", 0, "" // records of a phase lie together
	for _, j := range o.State.All() {
		if j.Status != state.Completed || j.Smoke {
			continue
		}
		if j.Phase != phase {
			done[phase] += n
			phase, n = j.Phase, 0
			if p := o.phase(phase); p != nil {
				defined = o.definition(p)
			}
		}
		if j.Definition == defined {
			n++
		}
	}
	done[phase] += n
	out := map[string]bool{}
	for _, p := range o.Campaign.Phases {
		out[p.Name] = done[p.Name] >= p.Len()
	}
	return out
}
