package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// A Restorable is a result that was replaced and that a job may have back.
type Restorable struct {
	From string // the key under which the state keeps it; "" = files that are adopted
	*state.Replaced
}

// RestoreOf is the replaced result that a cell gets back, of those that the state
// keeps and that are there: its own before others, the last before earlier ones.
// Used are those that other cells get.
func RestoreOf(st *state.State, p *lang.Phase, cell int, hash Hash, there func(token string) bool, used map[string]bool) *Restorable {
	last := func(key string) *Restorable {
		all := st.Replaced[key]
		for i := len(all) - 1; i >= 0; i-- {
			r := &all[i]
			if scheme(&r.Job) == Scheme && hash.Is(r.Job.Result) && !used[r.Token()] && fits(p, cell, &r.Job) && readsSame(st, p, &r.Job) && there(r.Token()) {
				return &Restorable{From: key, Replaced: r}
			}
		}
		return nil
	}
	if r := last(p.Address(cell)); r != nil {
		return r
	}
	for _, key := range slices.Sorted(maps.Keys(st.Replaced)) {
		if r := last(key); r != nil {
			return r
		}
	}
	return nil
}

// fits reports whether a result has every output that a cell declares, where a
// rename can bring it.
func fits(p *lang.Phase, cell int, job *state.Job) bool {
	if len(job.Outputs) != len(p.Outputs) {
		return false
	}
	backend := job.Outputs[0].Backend
	for _, d := range p.Outputs {
		o := observed.RecordOf(job, d.Name)
		if o == nil || o.Backend != backend || d.Shared {
			return false
		}
		if d.Kind == lang.Glob && o.Path != p.OutputPath(cell, d.Name, lang.Run) {
			return false
		}
	}
	return true
}

// restorable finds the jobs whose result was replaced and is still there. One that
// is recorded with this very result is none of them.
func restorable(fs *facts, ps phases) {
	if len(fs.st.Replaced) == 0 {
		return
	}
	kept := map[Hash]bool{}
	for _, all := range fs.st.Replaced {
		for i := range all {
			if h, ok := result.ParseHash(all[i].Job.Result); ok {
				kept[h] = true
			}
		}
	}
	there := func(token string) bool { return !fs.in.Observed.Refreshed || fs.in.Observed.Replaced[token] }
	used := map[string]bool{}
	for _, w := range ps.drafts {
		for i, h := range w.pp.Result {
			if !kept[h] || w.from[i] != "" {
				continue
			}
			if job := w.record(i); job != nil && (job.InFlight() || w.unchanged(i, job)) {
				continue
			}
			if r := RestoreOf(fs.st, w.p, i, h, there, used); r != nil {
				w.bring(i, r)
				used[r.Token()] = true
			}
		}
	}
}

// bring gives a cell a result that is there.
func (w *draft) bring(i int, r *Restorable) {
	if w.restored == nil {
		w.restored = map[int]*Restorable{}
	}
	w.restored[i] = r
}

// backInstead turns a launch into a restored result, where there is one.
func (w *draft) backInstead(i int, job *state.Job, kind Kind, d *Detail) Kind {
	r := w.restored[i]
	if r == nil || kind != Run && kind != Rerun || w.is(w.rerun, i) {
		return kind
	}
	d.State, d.Text = job, "made "+r.Job.Updated.Format("2006-01-02")
	if r.From != w.p.Address(i) {
		d.Text += fmt.Sprintf(" as %s", r.From)
	}
	d.Destroy = job != nil && job.Status == state.Completed
	return Restore
}

// results are the records of a phase as they are before anything starts: with the
// results that are put back.
func (w *draft) results() []*state.Job {
	if len(w.restored) == 0 {
		return w.rec
	}
	out := make([]*state.Job, len(w.pp.Kind))
	copy(out, w.rec)
	for i, r := range w.restored {
		if k := w.pp.Kind[i]; k == Restore || k == AdoptFiles {
			out[i] = &r.Job
		}
	}
	return out
}
