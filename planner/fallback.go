package planner

import (
	"maps"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// fallbacks decides where jobs go after failures that make them leave, for each request
// of which a job starts or is in flight.
func (pl *placer) fallbacks(w *draft) (diags diag.List) {
	if len(w.p.Retry.Place) == 0 {
		return nil
	}
	w.pp.After = make([][]place.Fallback, len(w.reqs))
	for i, k := range w.pp.Kind {
		r := w.p.RequestOf(i, lang.Run)
		if w.pp.After[r] != nil || !k.Starts() && !k.InFlight() && k != Blocked {
			continue
		}
		all, ds := pl.fallbacksOf(w, r)
		w.pp.After[r] = all
		diags.Append(ds...)
	}
	return diags
}

// fallbacksOf are those of one request.
func (pl *placer) fallbacksOf(w *draft, r int) (all []place.Fallback, diags diag.List) {
	for _, class := range slices.Sorted(maps.Keys(w.p.Retry.Place)) {
		a, ds := pl.fallback(w, r, class)
		all = append(all, a)
		diags.Append(ds...)
	}
	return all, diags
}

// fallback is where one job of a request goes after a failure.
func (pl *placer) fallback(w *draft, r int, class string) (place.Fallback, diag.List) {
	g := w.expecting(w.reqs[r], 1) // a later launch shares no node
	g.Candidates, g.Prefer = w.p.Retry.Place[class], "order"
	found, diags := place.Decide(pl.input([]place.Group{g}))
	to := found[0]
	to.Beside = nil
	for i := range diags {
		diags[i].Summary += ", after " + class
	}
	out := place.Fallback{Class: class, To: to}
	shape := to.Shape
	if all := ceiling.Of(to, w.p.Retry, pl.in.Pools); len(all) > 0 {
		shape = all[len(all)-1]
	}
	if to.Backend != "" {
		most, _ := place.AtMost(shape, to.Price, to.Around(), to.Hold)
		out.AtMost = amount.Texts(most)
	}
	return out, diags
}

// following is a decision for jobs of a request with where they go after failures.
func (w *draft) following(d place.Decision, r int) place.Decision {
	if len(w.pp.After) == 0 {
		return d
	}
	d.After = w.pp.After[r]
	d.Beside = slices.Clone(d.Beside)
	for i := range d.Beside {
		d.Beside[i].After = d.After
	}
	return d
}

// went is the name in the retry policy under which a job has gone elsewhere in the
// launches that its next one comes after, "" where it has not.
func (fs *facts) went(w *draft, i int) string {
	k, rec := w.pp.Kind[i], w.record(i)
	if len(w.p.Retry.Place) == 0 || rec == nil || k != Retry && k != Resubmit {
		return ""
	}
	ended := Ended(rec)
	if last := rec.Last(); last != nil && last.Class == "" { // the state has not recorded its end yet
		ended = append(ended, retry.Ended{Class: fs.observe(rec).Class, Backend: last.Backend})
	}
	return w.p.Retry.Went(ended)
}

// Ended are the launches of a job that failed, oldest first.
func Ended(j *state.Job) (out []retry.Ended) {
	for i := range j.Attempts {
		if a := &j.Attempts[i]; a.Class != "" {
			out = append(out, retry.Ended{Class: a.Class, Backend: a.Backend})
		}
	}
	return out
}

// leave gives the cells that have gone elsewhere their place there.
func (w *draft) leave(gone map[int]string) {
	type key struct {
		request int
		class   string
	}
	at := map[key]uint16{}
	for _, i := range slices.Sorted(maps.Keys(gone)) {
		k := key{w.p.RequestOf(i, lang.Run), gone[i]}
		if at[k] == 0 {
			for _, a := range w.pp.After[k.request] {
				if a.Class == k.class {
					to := a.To
					to.After = w.pp.After[k.request]
					w.pp.Placements = append(w.pp.Placements, to)
					at[k] = uint16(len(w.pp.Placements) - 1)
				}
			}
		}
		w.pp.Place[i] = at[k]
	}
}
