package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// compareRequests holds what starts against what was seen of its phase: a
// request that is far off is noted, and a runtime that is foretold to pass the
// walltime is a warning.
func (m *maker) compareRequests() {
	for _, w := range m.works {
		if w.starts() {
			m.tooRare(w)
		}
		if !w.starts() || w.rec == nil && w.p.Smoke == nil {
			continue
		}
		m.tooShort(w)
		if ev := m.evidence(w); ev.Enough() && !m.incomparable(w) {
			m.plan.Notes = append(m.plan.Notes, m.farOff(w, ev)...)
		}
	}
}

// farOff says which requests of a phase are far off what its runs used; of
// several requests the one that is most off.
func (m *maker) farOff(w *work, ev *evidence.Evidence) []string {
	var most offer.Shape
	for at, n := range w.groupJobs() {
		if n > 0 {
			s := w.pp.Placements[at].Shape
			most.Memory, most.CPUs, most.Walltime = max(most.Memory, s.Memory), max(most.CPUs, s.CPUs), max(most.Walltime, s.Walltime)
		}
	}
	return ev.FarOff(most, m.longest(w))
}

// longest is the longest runtime that a fitted model foretells of what starts,
// at the 90th percentile; 0 without one.
func (m *maker) longest(w *work) (out time.Duration) {
	model, ok := m.fit(w)
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

// tooShort warns of jobs that are foretold to need longer than their walltime, or
// than until they are asked to end before it.
func (m *maker) tooShort(w *work) {
	n, first := 0, -1
	var longest, walltime, ends time.Duration
	basis := ""
	chained := 0 // launches of that job
	count := func(i int, takes, limit time.Duration, how string) {
		d, launched := w.pp.Decision(i), 0
		asked := m.askedToEnd(d, limit)
		if evidence.Launch(w.p, d) > 0 { // it goes on from its checkpoint
			limit, launched = evidence.Longest(w.p, d), launches.Chained(w.p.Retry, d.Segments)
			asked = limit
		}
		if limit <= 0 || takes <= asked {
			return
		}
		if n++; takes > longest {
			first, longest, walltime, ends, basis, chained = i, takes, limit, asked, how, launched
		}
	}
	model, fits := m.fit(w)
	whole := m.evidence(w).Runtime(0) // as if nothing ended it
	known := whole.Mark == forecast.Estimated
	for i, k := range w.pp.Kind {
		if !k.Starts() || !known && !fits {
			continue
		}
		limit := w.reqs[w.p.RequestOf(i, lang.Run)].Shape.Walltime
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
		return
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
	d := diag.Diagnostic{Severity: diag.Warning, Summary: "jobs are likely to need longer than their walltime", Address: "phase." + w.p.Name, In: fmt.Sprintf("phase %q", w.p.Name), Subject: w.p.Range.Ptr(),
		Detail: fmt.Sprintf("%s of phase.%s: %s is expected to take %s, and its walltime is %s (%s). %s.",
			amount.Jobs(n), w.p.Name, w.p.Address(first), units.ShortDuration(longest.Round(time.Second)), of, basis, way)}
	if at, ok := w.p.Asks["walltime"]; ok {
		d.Subject = &at
	}
	m.diags.Append(d)
}

// askedToEnd is when a job is asked to end where it is to go: before its walltime,
// if a host's queue runs it and something bounds what it may cost.
func (m *maker) askedToEnd(d place.Decision, walltime time.Duration) time.Duration {
	typ, _, _ := strings.Cut(d.Backend, ".")
	if m.in.Can[typ].HostQueue && (len(m.in.Campaign.Budgets) > 0 || place.Charges(d.Price)) {
		walltime, _ = launches.InTime(walltime)
	}
	return walltime
}

// evidence is worked out once, and only for phases of which a job runs.
func (m *maker) evidence(w *work) *evidence.Evidence {
	if w.ev == nil {
		w.ev = m.history(w).Evidence(m.st.Validations)
	}
	return w.ev
}

// fit is the model of a phase, worked out once.
func (m *maker) fit(w *work) (*evidence.Fitted, bool) {
	if !w.starting() && !slices.ContainsFunc(w.pp.Kind, Kind.Flies) {
		return nil, false
	}
	if !w.fitTried {
		w.fitTried = true
		w.model, w.fits = m.history(w).Fit()
	}
	return w.model, w.fits
}

// history is the completed jobs of a phase, gathered once.
func (m *maker) history(w *work) *evidence.Past {
	if w.history == nil {
		w.history = evidence.PastOf(w.p, w.rec, m.st.Definitions)
	}
	return w.history
}

// incomparable reports whether history says nothing of a job that starts.
func (m *maker) incomparable(w *work) bool {
	model, ok := m.fit(w)
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
