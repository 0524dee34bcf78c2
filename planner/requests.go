package planner

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// compareRequests compares the jobs to start with the measurements of their phase: it notes a
// request that is far off, and warns of a runtime that is expected to pass the walltime.
func compareRequests(fs *facts, ps phases) (out report) {
	for _, w := range ps.drafts {
		if !w.starts() {
			continue
		}
		out.diags.Append(w.tooRare()...)
		if w.rec == nil && w.p.Smoke == nil {
			continue
		}
		out.diags.Append(fs.tooShort(w)...)
		if w.incomparable() {
			continue
		}
		out.notes = append(out.notes, w.past.history().FarOff(w.asking())...)
		if ev := w.past.measurements(); ev.Enough() {
			out.notes = append(out.notes, w.farOff(ev)...)
		}
	}
	return out
}

// farOff says which requests of a phase are far off the use of its runs; of
// several requests the one that is most off.
func (w *draft) farOff(ev *history.Measurements) []string {
	var most offer.Shape
	for at, n := range w.groupJobs() {
		if n > 0 {
			s := w.pp.Placements[at].Shape
			most.CPUs, most.Walltime = max(most.CPUs, s.CPUs), max(most.Walltime, s.Walltime)
		}
	}
	return ev.FarOff(most, w.longest())
}

// asking tells how much memory jobs ask for that start.
func (w *draft) asking() func(memory int64) bool {
	asked := map[int64]bool{}
	for i, k := range w.pp.Kind {
		if k.Starts() {
			asked[w.request(i).Shape.Memory] = true
		}
	}
	return func(memory int64) bool { return asked[memory] }
}

// longest is the longest runtime that a fitted model forecasts for the
// starting jobs, at the 90th percentile; 0 without one.
func (w *draft) longest() (out time.Duration) {
	model, ok := w.fit()
	if !ok {
		return 0
	}
	for i, k := range w.pp.Kind {
		if k.Starts() {
			if r, ok := model.Predict(i); ok {
				out = max(out, r.P90)
			}
		}
	}
	return out
}

// tooShort warns of jobs that are expected to need longer than their walltime, or
// than until they are asked to end before it.
func (fs *facts) tooShort(w *draft) diag.List {
	n, first := 0, -1
	var longest, walltime, ends time.Duration
	basis := ""
	chained := 0 // launches of that job
	count := func(i int, takes, limit time.Duration, how string) {
		d, launched := w.pp.Decision(i), 0
		asked := fs.askedToEnd(d, limit)
		if history.Launch(w.p, d) > 0 { // it goes on from its checkpoint
			limit, launched = history.Longest(w.p, d), ceiling.Chained(w.p.Retry, d.Segments)
			asked = limit
		}
		if limit <= 0 || takes <= asked {
			return
		}
		if n++; takes > longest {
			first, longest, walltime, ends, basis, chained = i, takes, limit, asked, how, launched
		}
	}
	model, fits := w.fit()
	whole := w.past.measurements().Runtime(0) // as if nothing ended it
	known := whole.Mark == forecast.Estimated
	for i, k := range w.pp.Kind {
		if !k.Starts() || !known && !fits {
			continue
		}
		limit := w.request(i).Shape.Walltime
		if fits {
			if r, ok := model.Predict(i); ok {
				count(i, r.Expected, limit, r.Basis)
				continue
			}
		}
		if known {
			count(i, whole.Expected, limit, whole.Basis)
		}
	}
	if n == 0 {
		return nil
	}
	of := units.ShortDuration(walltime)
	if ends < walltime {
		of += ", of which it has " + units.ShortDuration(ends.Truncate(time.Second)) + " until it is asked to end"
	}
	way := "Raise walltime, or add a checkpoint and retry on walltime, so that the work goes on where it was"
	if chained > 1 {
		of += fmt.Sprintf(" in %d launches", chained)
		way = "Raise walltime, or max_attempts of its retry"
	}
	d := diag.Diagnostic{Severity: diag.Warning, Summary: "Jobs are likely to need longer than their walltime", Address: "phase." + w.p.Name, In: fmt.Sprintf("phase %q", w.p.Name), Subject: w.p.Range.Ptr(),
		Detail: fmt.Sprintf("%s of phase.%s: %s is expected to take %s, and its walltime is %s (%s). %s.",
			amount.Jobs(n), w.p.Name, w.p.Address(first), units.ShortDuration(longest.Round(time.Second)), of, basis, way)}
	if at, ok := w.p.Asks["walltime"]; ok {
		d.Subject = &at
	}
	return diag.List{d}
}

// askedToEnd is when a job is asked to end where it is to go: before its walltime, if a host's
// queue runs it and something bounds its cost.
func (fs *facts) askedToEnd(d place.Decision, walltime time.Duration) time.Duration {
	if fs.can(d.Backend).HostQueue && (len(fs.in.Campaign.Budgets) > 0 || place.Charges(d.Price)) {
		walltime, _ = ceiling.InTime(walltime)
	}
	return walltime
}

// incomparable reports whether history says nothing of a job that starts.
func (w *draft) incomparable() bool {
	model, ok := w.fit()
	if !ok {
		return false
	}
	for i, k := range w.pp.Kind {
		if k.Starts() && model.Apart(i) != "" {
			return true
		}
	}
	return false
}
