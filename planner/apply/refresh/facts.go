package refresh

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/state"
)

// Facts are known before any question. They do not change.
type facts struct {
	Input
	groups  []jobGroup
	idle    map[string]bool // phases where every job is completed
	digests *digests.Book   // of files that were read before, and now
}

func newFacts(in Input) *facts {
	f := &facts{Input: in, groups: jobGroups(in.Campaign), digests: digests.Open(in.Cache)}
	f.idle = f.finished()
	return f
}

// finished are the phases that have nothing left to run, as the state says.
func (f *facts) finished() map[string]bool {
	done := map[string]int{}
	phase, n, defined := "", 0, "" // records of a phase are together
	for _, j := range f.State.All() {
		if j.Status != state.Completed || j.Smoke {
			continue
		}
		if j.Phase != phase {
			done[phase] += n
			phase, n = j.Phase, 0
			if p := f.phase(phase); p != nil {
				defined = p.Definition().Digest
			}
		}
		if j.Definition == defined {
			n++
		}
	}
	done[phase] += n
	out := map[string]bool{}
	for _, p := range f.Campaign.Phases {
		out[p.Name] = done[p.Name] >= p.Len()
	}
	return out
}

func (f *facts) phase(name string) *lang.Phase {
	for _, p := range f.Campaign.Phases {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// each calls fn with the cells of a group until it returns false.
func (f *facts) each(p *lang.Phase, g jobGroup, fn func(int) bool) {
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
func (f *facts) done(p *lang.Phase, g jobGroup, i int) bool {
	if g.Smoke || f.State == nil || len(f.State.Jobs) == 0 {
		return false
	}
	j := f.State.Jobs[p.Address(i)]
	return j != nil && j.Status == state.Completed && j.Definition == p.Definition().Digest
}

// mayStart reports whether a plan may start a job under a new token: it has not
// completed as it is defined now, and none of it runs.
func (f *facts) mayStart(p *lang.Phase, g jobGroup, i int) bool {
	if f.State == nil || len(f.State.Jobs) == 0 {
		return true
	}
	j := f.State.Jobs[p.Address(i)]
	if j == nil {
		return true
	}
	switch j.Status {
	case state.Running, state.Verifying:
		return false
	}
	return !f.done(p, g, i)
}

// ranWith reports whether jobs are recorded with a source.
func (f *facts) ranWith(digest string) bool {
	if f.State == nil {
		return false
	}
	for _, j := range f.State.Jobs {
		if j.Source == digest {
			return true
		}
	}
	return false
}

// reads is Reads, where there is one.
func (f *facts) reads(dir, what string) error {
	if f.Reads == nil {
		return nil
	}
	return f.Reads(dir, what)
}

// secrets are those that cannot be read, and why.
func (f *facts) secrets() map[string]string {
	out := map[string]string{}
	if f.Secrets == nil {
		return out
	}
	for _, p := range f.Campaign.Phases {
		if f.idle[p.Name] {
			continue
		}
		for _, s := range p.Secrets {
			if err := f.Secrets(s); err != nil {
				out[s.Name] = err.Error()
			}
		}
	}
	return out
}

// announce shows a wait that lasts; the returned function ends it.
func (f *facts) announce(what string) func() {
	if f.Waiting == nil {
		return func() {}
	}
	t := time.AfterFunc(slowNotice, func() { f.Waiting(what) })
	return func() { t.Stop() }
}
