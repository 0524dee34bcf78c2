package checklist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// dryRun: this plan is it, when it asked the backends and found no error.
func dryRun(f *phase) (bool, string) {
	for _, d := range f.plan.Diags {
		if d.Severity == diag.Error {
			return false, "the plan has errors: " + diag.Lower(d.Summary)
		}
	}
	if !f.in.Observed.Refreshed {
		return false, "the backends were not asked: plan without -refresh=false"
	}
	var parts []string
	if g := f.Smoke; g != nil && len(g.Run) > 0 {
		parts = append(parts, units.Count(len(g.Run), "smoke"))
	}
	if f.starts > 0 {
		parts = append(parts, units.Count(f.starts, "job"))
	}
	text := "this plan submits nothing; applied, it starts " + orElse(strings.Join(parts, ", then "), "nothing of the phase")
	if f.gated > 0 {
		text += fmt.Sprintf("; %s behind a gate", units.Count(f.gated, "job"))
	}
	return true, text
}

// backendChosen says which rule or preference chose, as explain does.
func backendChosen(f *phase) (bool, string) {
	if f.nowhere > 0 {
		return false, fmt.Sprintf("%s without a place: %s", units.Count(f.nowhere, "job"), orElse(f.lost.Away, "no candidate fits"))
	}
	return true, each(f.places, func(d place.Decision) string {
		text := at(d) + ": " + d.Why
		if d.Fallback != "" {
			text += " (" + d.Fallback + ")"
		}
		return text
	})
}

// factsCurrent compares the month of a site's facts with policy.stale_after.
func factsCurrent(f *phase) (bool, string) {
	var good, bad []string
	for _, p := range f.pools() {
		policy := &f.in.Campaign.Policy
		where := strings.TrimSuffix(p.Backend+" "+p.Name, " ")
		switch problem := f.in.Observed.Unreachable[p.Backend]; {
		case problem != "":
			bad = append(bad, p.Backend+" cannot be asked: "+problem)
		case p.Verified == "":
			good = append(good, where+": live")
		case policy.Stale(p.Verified, f.in.Now):
			bad = append(bad, fmt.Sprintf("%s: facts of %s are older than stale_after (%s): compare muster backends with the site's documentation", where, p.Verified, units.ShortDuration(policy.StaleAfter)))
		case p.Idle >= 0 || p.Wait >= 0:
			good = append(good, fmt.Sprintf("%s: facts of %s; what is free is live", where, p.Verified))
		default:
			good = append(good, fmt.Sprintf("%s: facts of %s", where, p.Verified))
		}
	}
	if len(bad)+len(good) == 0 {
		return false, "nothing is known of its " + f.words().Pool + "s"
	}
	if len(bad) > 0 {
		return false, some(bad)
	}
	return true, some(good)
}

// pools are those that jobs and smokes go to, or were looked at in vain.
func (f *phase) pools() (out []offer.Pool) {
	add := func(backend, name string) {
		p := ceiling.Pool(f.in.Pools, backend, name)
		if f.queued(p.Backend) && !slices.ContainsFunc(out, func(o offer.Pool) bool { return o.Backend == p.Backend && o.Name == p.Name }) {
			out = append(out, p)
		}
	}
	for _, d := range f.places {
		add(d.Backend, d.Pool)
	}
	if g := f.Smoke; g != nil && len(g.Run) > 0 {
		add(g.Place.Backend, g.Place.Pool)
	}
	if len(f.places) == 0 {
		for _, c := range f.lost.Candidates {
			add(c.Backend, c.Pool)
		}
	}
	return out
}

// smokeDone: before production the same configuration runs shorter, and before
// that nothing of the phase starts.
func smokeDone(f *phase) (bool, string) {
	g := f.Smoke
	switch {
	case f.Phase.Smoke == nil:
		return false, fmt.Sprintf("none is declared: add smoke { walltime = \"10m\" } to phase %q", f.Phase.Name)
	case g == nil:
		return false, "it cannot run yet"
	case len(g.Failed) > 0:
		return false, f.Hold
	case len(g.Run) > 0:
		return true, fmt.Sprintf("%s first, on %s", units.Count(len(g.Run), "smoke"), at(g.Place))
	case len(g.Waiting) > 0:
		return true, "it is running, and nothing starts before it has passed"
	case g.Override != "":
		return true, g.Override
	case g.Text != "":
		return true, g.Text
	}
	return false, "it waits for held jobs"
}

// noDuplicate: submitted jobs keep running, and no job has two handles.
func noDuplicate(f *phase) (bool, string) {
	inFlight, unknown, twice := 0, 0, 0
	for _, k := range f.Kind {
		switch k {
		case planner.Duplicate:
			twice++
		case planner.Continue, planner.Adopt:
			inFlight++
		case planner.UnknownAt:
			unknown++
		}
	}
	if twice > 0 {
		return false, fmt.Sprintf("%s in the queue twice, under one token: see muster explain", units.Count(twice, "job"))
	}
	text := "nothing of the phase is in flight"
	if inFlight > 0 {
		text = units.Count(inFlight, "job") + " in flight already, left to run"
	}
	if unknown > 0 {
		text += fmt.Sprintf("; %s unknown, and not submitted again", units.Count(unknown, "job"))
	}
	return true, text
}

// idLogged: no job of the phase was submitted without the id that it got.
func idLogged(f *phase) (bool, string) {
	lacking := 0
	for i, k := range f.Kind {
		job := f.Record(i)
		if k == planner.UnknownAt && job != nil && job.Status == state.Submitting && job.Last() != nil && job.Last().Handle == "" {
			lacking++
		}
	}
	if lacking > 0 {
		return false, fmt.Sprintf("%s submitted with an unknown id: muster looks for the job by its token when the backend answers", units.Count(lacking, "job"))
	}
	return true, "the state in " + f.store + " holds each job's token before " + f.words().Submit + " is called, and its id as " + f.words().Submit + " answers"
}

// failurePlan says what follows a failure.
func failurePlan(f *phase) (bool, string) {
	var parts []string
	if r := f.Phase.Retry; r.Max > 1 {
		parts = append(parts, fmt.Sprintf("retry on %s, %d launches at most", orElse(strings.Join(r.On, ", "), "nothing"), r.Max))
	}
	if n := len(f.in.Campaign.Failures); n > 0 {
		parts = append(parts, fmt.Sprintf("%s (%s)", units.Count(n, "failure block"), f.catalogue()))
	}
	own := len(parts) > 0
	b := f.Phase.Breaker
	var opens []string
	if b.SameError > 0 {
		opens = append(opens, fmt.Sprintf("%d equal errors in a row", b.SameError))
	}
	if b.Share > 0 {
		opens = append(opens, fmt.Sprintf("%.3g%% of a batch", 100*b.Share))
	}
	if len(opens) > 0 {
		parts = append(parts, "breaker at "+strings.Join(opens, " or "))
	}
	if len(parts) == 0 {
		return false, `no retry, no failure block, and the breaker is off: add retry { on = ["node_failure"] }`
	}
	if !own {
		return true, "only the defaults: no retry; " + strings.Join(parts, "; ")
	}
	return true, strings.Join(parts, "; ")
}

func (f *phase) catalogue() string {
	var names []string
	for _, x := range f.in.Campaign.Failures {
		names = append(names, x.Name)
	}
	return strings.Join(names, ", ")
}
