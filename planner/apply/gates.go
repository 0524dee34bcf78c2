package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// gates judge smokes, and take back jobs queued behind a smoke or a pilot that did not pass.
type gates struct {
	*jobs
	breakers *breakers
	schedule *schedule
}

// load takes the gates from the plan. Smokes that ended while nobody
// judged them are judged now.
func (gs *gates) load() {
	gs.backends.Unanswered++ // the cancels wait for the first look-up
	defer func() { gs.backends.Unanswered-- }()
	for _, p := range gs.phases {
		g := p.plan.Smoke
		if g != nil && g.Place.Backend != "" {
			p.Gate.Place = &g.Place
		}
		if g != nil && p.Smoke != nil {
			gs.loadSmokes(p, g)
		}
		gs.loadPilots(p)
		gs.unchainGate(p)
	}
	gs.schedule.enqueue()
}

// unchainGate takes back the jobs queued behind a smoke or a pilot
// that has not passed and is not under way.
func (gs *gates) unchainGate(p *phase) {
	for _, c := range p.Gate.Order {
		if gs.byJob[p.recordKey(c, true)] == nil {
			gs.schedule.behindSmoke(p, c)
		}
	}
	for c := range p.Gate.Pilots {
		if gs.byJob[p.Address(int(c))] == nil {
			gs.schedule.behindPilots(p)
		}
	}
}

// loadPilots takes the pilots that have not completed: one that failed or is
// held keeps the rest of its phase from starting.
func (gs *gates) loadPilots(p *phase) {
	for _, c := range p.Pilot {
		switch p.At[c] {
		case cells.Done, cells.Skipped, cells.SkippedDone:
			continue
		}
		print := func() string { return p.resultText(int32(c), false) }
		if waived(gs.st, print, "phase."+p.Name, p.Address(c)) {
			continue
		}
		if p.Gate.Pilots == nil {
			p.Gate.Pilots = map[int32]bool{}
		}
		p.Gate.Pilots[int32(c)] = true
	}
}

func (gs *gates) loadSmokes(p *phase, g *planner.Gate) {
	p.Gate.Smokes, p.Gate.Prints = map[int32]cells.Status{}, map[int32]string{}
	for i, c := range p.Smoke.Cells {
		if i < len(g.Prints) {
			p.Gate.Prints[int32(c)] = g.Prints[i].String()
		}
	}
	if g.Override != "" || waived(gs.st, nil, "phase."+p.Name) { // those of single prints are in the plan
		return
	}
	add := func(c int, s cells.Status) {
		if !slices.Contains(p.Gate.Order, int32(c)) {
			p.Gate.Order = append(p.Gate.Order, int32(c))
			p.Gate.Smokes[int32(c)] = s
		}
	}
	for _, c := range g.Run {
		add(c, cells.Pending)
	}
	for _, c := range g.Waiting {
		add(c, cells.Pending)
	}
	for _, c := range g.Failed {
		add(c, cells.Failed)
	}
	for key, f := range gs.byJob {
		if f.p == p && f.smoke && strings.HasPrefix(key, "smoke.") {
			add(int(f.cell), f.Status)
			p.Gate.Smokes[f.cell] = f.Status
			f.outdated = f.became(gs.st.Jobs[f.Key])
		}
	}
	slices.Sort(p.Gate.Order)
	for _, c := range slices.Clone(p.Gate.Order) {
		gs.judgeLate(p, c)
	}
}

// judgeLate judges a smoke that completed in the moment a run was cut off.
func (gs *gates) judgeLate(p *phase, cell int32) {
	rec := gs.st.Jobs[p.recordKey(cell, true)]
	want := p.Gate.Print(cell)
	if s := p.Gate.Smokes[cell]; rec == nil || want == "" || rec.Result != want || s != cells.Pending && s != cells.Failed {
		return
	}
	a := rec.Last()
	if v, known := gs.st.Validations[want]; known && !(v.Open && a != nil && a.Queued.After(v.At)) { // an open one was judged by the run before
		return
	}
	switch rec.Status {
	case state.Completed:
		gs.validate(p, cell, rec.Metrics, a)
	case state.Failed:
		gs.invalidate(p, cell, "it failed: "+rec.Class, a)
	}
}

// smokePassed judges a completed smoke by its expectations.
func (gs *gates) smokePassed(f *attempt, metrics map[string]string, o *offer.Observation) {
	if f.End.Restarts() {
		f.p.Gate.Retry(f.cell)
		return
	}
	a := gs.st.Jobs[f.Key].Last()
	gs.validate(f.p, f.cell, metrics, a)
}

// canaryDue reports whether the next run of a smoke, or the one in flight, is its
// canary: its short runs have passed.
func (gs *gates) canaryDue(p *phase, cell int32, print string) bool {
	v := gs.st.Validations[print]
	return p.Smoke != nil && p.Smoke.Longest(int(cell)) == lang.CanaryRun && v.Open && len(v.Repeats) >= p.Smoke.Repeat
}

func (gs *gates) validate(p *phase, cell int32, metrics map[string]string, a *state.Attempt) {
	variant := lang.SmokeRun
	if gs.canaryDue(p, cell, p.Gate.Print(cell)) {
		variant = lang.CanaryRun
	}
	if said := p.CheckExpect(int(cell), variant, metrics); len(said) > 0 {
		gs.invalidateWith(p, cell, strings.Join(said, "; "), metrics, a)
		return
	}
	v := gs.validation(p, cell, a)
	v.Metrics, v.Params = metrics, history.Shortened(p.Phase, int(cell), variant)
	if variant == lang.CanaryRun {
		short := gs.st.Validations[v.Fingerprint]
		v.Canary = &state.SmokeRun{Elapsed: v.Elapsed, Metrics: metrics, Params: v.Params}
		v.Repeats, v.Elapsed, v.Metrics, v.Params = short.Repeats, short.Elapsed, short.Metrics, short.Params
	} else if why := gs.measured(p, cell, &v); why != "" {
		gs.invalidateWith(p, cell, why, metrics, a)
		return
	}
	v.Passed = !v.Open
	gs.Emit(state.Validated{Validation: v})
	if v.Open {
		text := fmt.Sprintf("%d of %d runs passed", len(v.Repeats), p.Smoke.Repeat)
		if len(v.Repeats) == p.Smoke.Repeat {
			text = "passed, its canary follows"
		}
		gs.Note(v.Address, "smoke of "+v.Address+": "+text, false)
		p.Gate.Retry(cell)
		return
	}
	p.Gate.Pass(cell)
	if !p.Gate.Shut() {
		gs.Note("phase."+p.Name, "phase."+p.Name+": smoke passed", false)
	}
}

// measured compares a smoke with its repeats and its expectations, and returns the difference.
func (gs *gates) measured(p *phase, cell int32, v *state.Validation) string {
	if expected := history.Smoke(p.Phase, gs.st.Validations, 0); expected.Basis != forecast.NoHistory {
		took := time.Duration(v.Elapsed * float64(time.Second))
		if why := smokeTooSlow(took, expected.Expected, p.Smoke.MinThroughput); why != "" {
			return why
		}
	}
	canary := p.Smoke.Longest(int(cell)) == lang.CanaryRun
	if p.Smoke.Repeat < 2 && !canary {
		return ""
	}
	if before := gs.st.Validations[v.Fingerprint]; before.Open {
		v.Repeats = slices.Clone(before.Repeats)
	}
	v.Repeats = append(v.Repeats, state.SmokeRun{Elapsed: v.Elapsed, Metrics: v.Metrics})
	v.Open = canary || len(v.Repeats) < p.Smoke.Repeat
	return smokesDisagree(v.Repeats, p.Smoke.Tolerance)
}

// revoke takes the pass of a phase's smokes away after a job failed for a cause that its
// configuration shares: unsubmitted jobs wait for the smokes to pass again. A job submitted
// before they passed does not count.
func (gs *gates) revoke(f *attempt, o *offer.Observation) {
	p, rec := f.p, gs.st.Jobs[f.Key]
	if p.Smoke == nil || !failure.OfConfiguration(o.Class) || rec == nil || rec.Last() == nil {
		return
	}
	why, revoked := f.Addr+" failed: "+retry.Text(o), false
	for _, c := range p.Smoke.Cells {
		v, ok := gs.st.Validations[p.Gate.Print(int32(c))]
		if !ok || !v.Passed || !rec.Last().Queued.After(v.At) {
			continue
		}
		v.Passed, v.Revoked, v.Repeats, v.Open, v.Canary = false, why, nil, false, nil
		gs.Emit(state.Validated{Validation: v})
		// A pilot that failed keeps the rest from starting, whatever a smoke says.
		if left := p.Counts[cells.Pending] + p.Counts[cells.Ready]; left > 0 && !p.Gate.Pilots[f.cell] {
			p.Gate.Again(int32(c))
			revoked = true
		}
	}
	if revoked {
		gs.Note("phase."+p.Name, "phase."+p.Name+": its smoke runs again before more jobs are submitted", false)
	}
}

func (gs *gates) validation(p *phase, cell int32, a *state.Attempt) state.Validation {
	v := state.Validation{Fingerprint: p.Gate.Print(cell), Address: p.Address(int(cell)), At: gs.Clock(), Class: gs.environment(p, cell)}
	if a != nil {
		v.Elapsed = max(0, history.Elapsed(a).Seconds())
	}
	return v
}

func (gs *gates) invalidate(p *phase, cell int32, message string, a *state.Attempt) {
	gs.invalidateWith(p, cell, message, nil, a)
}

// invalidateWith records a failed smoke. The phase is held: nothing bigger
// starts.
func (gs *gates) invalidateWith(p *phase, cell int32, message string, metrics map[string]string, a *state.Attempt) {
	v := gs.validation(p, cell, a)
	v.Message, v.Metrics = message, metrics
	gs.Emit(state.Validated{Validation: v})
	p.Gate.Mark(cell, cells.Failed)
	gs.schedule.behindSmoke(p, cell)
	text := "smoke of " + p.Address(int(cell)) + " failed: " + message + "; phase." + p.Name + " is held"
	gs.Note(p.Address(int(cell)), text, true)
	gs.breakers.heed(p, p.Name, retry.Smokes(retry.FailedSmokes(gs.st, p.Name), p.Breaker), "")
}

// smokeFailed is for a smoke that did not complete.
func (gs *gates) smokeFailed(f *attempt, text string) {
	gs.invalidate(f.p, f.cell, text, gs.st.Jobs[f.Key].Last())
}

// refuse holds a job that cannot be rendered: nothing was spent on it.
func (gs *gates) refuse(f *attempt, diags diag.List) {
	text := "its definition cannot be evaluated"
	if i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); i >= 0 {
		text = diags[i].String()
	}
	if f.smoke {
		gs.smokeFailed(f, text)
		return
	}
	gs.schedule.holdJob(f.p, f.cell, text)
}
