package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/approval"
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/smoke"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// loadGates takes the gates from the plan. Smokes that ended while nobody
// judged them are judged now.
func (e *engine) loadGates() {
	e.fleet.Unanswered++ // the cancels wait for the first look-up
	defer func() { e.fleet.Unanswered-- }()
	for _, p := range e.phases {
		g := p.plan.Smoke
		if g != nil && g.Place.Backend != "" {
			p.Gate.Place = &g.Place
		}
		if g != nil && p.Smoke != nil {
			e.loadSmokes(p, g)
		}
		e.loadPilots(p)
		e.unchainGate(p)
	}
	e.enqueue()
}

// unchainGate takes back what was handed over to come after a smoke or a pilot
// that has not passed and is not under way.
func (e *engine) unchainGate(p *phase) {
	for _, c := range p.Gate.Order {
		if e.byJob[e.recordKey(p, c, true)] == nil {
			e.behindSmoke(p, c)
		}
	}
	for c := range p.Gate.Pilots {
		if e.byJob[p.Address(int(c))] == nil {
			e.behindPilots(p)
		}
	}
}

// loadPilots takes the pilots that have not completed: one that failed or is
// held keeps the rest of its phase from starting.
func (e *engine) loadPilots(p *phase) {
	for _, c := range p.Pilot {
		switch p.At[c] {
		case cells.Done, cells.Skipped, cells.SkippedDone:
			continue
		}
		print := func() string { return p.resultText(int32(c), false) }
		if approval.Waived(e.st, print, "phase."+p.Name, p.Address(c)) {
			continue
		}
		if p.Gate.Pilots == nil {
			p.Gate.Pilots = map[int32]bool{}
		}
		p.Gate.Pilots[int32(c)] = true
	}
}

func (e *engine) loadSmokes(p *phase, g *planner.Gate) {
	p.Gate.Smokes, p.Gate.Prints = map[int32]cells.Status{}, map[int32]string{}
	for i, c := range p.Smoke.Cells {
		if i < len(g.Prints) {
			p.Gate.Prints[int32(c)] = g.Prints[i].String()
		}
	}
	if g.Override != "" || approval.Waived(e.st, nil, "phase."+p.Name) { // those of single prints are in the plan
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
		p.Gate.Failed = true
	}
	for key, f := range e.byJob {
		if f.p == p && f.smoke && strings.HasPrefix(key, "smoke.") {
			add(int(f.cell), f.Status)
			p.Gate.Smokes[f.cell] = f.Status
		}
	}
	slices.Sort(p.Gate.Order)
	for _, c := range slices.Clone(p.Gate.Order) {
		e.judgeLate(p, c)
	}
}

// judgeLate judges a smoke that completed in the moment a run was cut off.
func (e *engine) judgeLate(p *phase, cell int32) {
	rec := e.st.Jobs[e.recordKey(p, cell, true)]
	want := p.Gate.Print(cell)
	if rec == nil || want == "" || rec.Result != want || p.Gate.Smokes[cell] != cells.Pending {
		return
	}
	if _, known := e.st.Validations[want]; known {
		return
	}
	a := rec.Last()
	switch rec.Status {
	case state.Completed:
		e.validate(p, cell, rec.Metrics, a)
	case state.Failed:
		e.invalidate(p, cell, "it failed: "+rec.Class, a)
	}
}

// dispatchSmokes starts the smokes of a phase: one after another, unless it
// says that they may run beside one another. Nothing is started after one
// failed.
func (e *engine) dispatchSmokes(p *phase) {
	g := &p.Gate
	if len(g.Order) == 0 || g.Failed || g.Place == nil || e.fleet.Contacts[g.Place.Backend] == nil {
		return
	}
	for _, c := range slices.Clone(g.Order) {
		if !p.Smoke.Parallel && g.Flying() > 0 && e.Mode == Drive {
			return
		}
		if g.Smokes[c] != cells.Ready && !(p.At[c] == cells.Done && g.Smokes[c] == cells.Pending) {
			continue
		}
		switch e.start(p, c, true) {
		case full:
			return
		case parked:
			g.Smokes[c] = cells.Pending
		}
	}
}

// dispatchPilots starts pilots, and nothing else of the phase.
func (e *engine) dispatchPilots(p *phase) {
	for c := range int32(len(p.At)) {
		if !p.Gate.Pilots[c] || p.At[c] != cells.Ready {
			continue
		}
		d := p.places.Of(c)
		if q := &p.queues[e.fleet.At(d.Backend, d.Pool).Ord]; !q.Remove(c) {
			continue
		}
		switch e.start(p, c, false) {
		case full:
			p.queues[e.fleet.At(d.Backend, d.Pool).Ord].Push(c)
			return
		case parked:
			p.Set(c, cells.Pending)
		}
	}
}

// smokePassed judges a smoke that completed by what it was expected to say.
func (e *engine) smokePassed(f *flight, metrics map[string]string, o *offer.Observation) {
	if f.End.Anew() {
		f.p.Gate.Retry(f.cell)
		return
	}
	a := e.st.Jobs[f.Key].Last()
	e.validate(f.p, f.cell, metrics, a)
}

func (e *engine) validate(p *phase, cell int32, metrics map[string]string, a *state.Attempt) {
	if said := p.CheckExpect(int(cell), metrics); len(said) > 0 {
		e.invalidateWith(p, cell, strings.Join(said, "; "), metrics, a)
		return
	}
	v := e.validation(p, cell, a)
	v.Metrics = metrics
	if why := e.measured(p, &v); why != "" {
		e.invalidateWith(p, cell, why, metrics, a)
		return
	}
	v.Passed = !v.Open
	e.emit(state.Validated{Validation: v})
	if v.Open {
		e.report.Note(v.Address, fmt.Sprintf("smoke of %s: %d of %d runs passed", v.Address, len(v.Repeats), p.Smoke.Repeat), false)
		p.Gate.Retry(cell)
		return
	}
	p.Gate.Pass(cell)
	if !p.Gate.Shut() {
		e.report.Note("phase."+p.Name, "phase."+p.Name+": smoke passed", false)
	}
}

// measured holds a smoke against its repeats and against what was expected of it,
// and says what is wrong.
func (e *engine) measured(p *phase, v *state.Validation) string {
	if expected := evidence.Smoke(p.Name, e.st.Validations, 0); expected.Basis != forecast.NoHistory {
		took := time.Duration(v.Elapsed * float64(time.Second))
		if why := smoke.TooSlow(took, expected.Expected, p.Smoke.MinThroughput); why != "" {
			return why
		}
	}
	if p.Smoke.Repeat < 2 {
		return ""
	}
	if before := e.st.Validations[v.Fingerprint]; before.Open {
		v.Repeats = slices.Clone(before.Repeats)
	}
	v.Repeats = append(v.Repeats, state.SmokeRun{Elapsed: v.Elapsed, Metrics: v.Metrics})
	v.Open = len(v.Repeats) < p.Smoke.Repeat
	return smoke.Disagree(v.Repeats, p.Smoke.Tolerance)
}

// revoke takes the pass of a phase's smokes away after a job failed for a cause
// that its configuration shares: what has not been submitted waits for the smokes
// to pass again. A job submitted before they passed says nothing of them.
func (e *engine) revoke(f *flight, o *offer.Observation) {
	p, rec := f.p, e.st.Jobs[f.Key]
	if p.Smoke == nil || !failure.OfConfiguration(o.Class) || rec == nil || rec.Last() == nil {
		return
	}
	why, revoked := f.Addr+" failed: "+relaunch.Text(o), false
	for _, c := range p.Smoke.Cells {
		v, ok := e.st.Validations[p.Gate.Print(int32(c))]
		if !ok || !v.Passed || !rec.Last().Queued.After(v.At) {
			continue
		}
		v.Passed, v.Revoked, v.Repeats, v.Open = false, why, nil, false
		e.emit(state.Validated{Validation: v})
		// A pilot that failed keeps the rest from starting, whatever a smoke says.
		if left := p.Counts[cells.Pending] + p.Counts[cells.Ready]; left > 0 && !p.Gate.Pilots[f.cell] {
			p.Gate.Again(int32(c))
			revoked = true
		}
	}
	if revoked {
		e.report.Note("phase."+p.Name, "phase."+p.Name+": its smoke runs again before more jobs are submitted", false)
	}
}

func (e *engine) validation(p *phase, cell int32, a *state.Attempt) state.Validation {
	v := state.Validation{Fingerprint: p.Gate.Print(cell), Address: p.Address(int(cell)), At: e.Clock(), Class: e.environment(p, cell)}
	if a != nil {
		v.Elapsed = max(0, evidence.Elapsed(a).Seconds())
	}
	return v
}

// environment is the class that a cell's smoke stands for: the backend that
// jobs like it go to first, and its GPU family.
func (e *engine) environment(p *phase, cell int32) string {
	d := p.places.First(cell)
	if d == nil {
		d = p.Gate.Place
	}
	if d == nil {
		return ""
	}
	return e.fleet.Environment(d.Backend, d.Pool, d.Shape)
}

func (e *engine) invalidate(p *phase, cell int32, message string, a *state.Attempt) {
	e.invalidateWith(p, cell, message, nil, a)
}

// invalidateWith records a failed smoke. The phase is held: nothing bigger
// starts.
func (e *engine) invalidateWith(p *phase, cell int32, message string, metrics map[string]string, a *state.Attempt) {
	v := e.validation(p, cell, a)
	v.Message, v.Metrics = message, metrics
	e.emit(state.Validated{Validation: v})
	p.Gate.Mark(cell, cells.Failed)
	p.Gate.Failed = true
	e.behindSmoke(p, cell)
	text := "smoke of " + p.Address(int(cell)) + " failed: " + message + "; phase." + p.Name + " is held"
	e.report.Note(p.Address(int(cell)), text, true)
	e.heed(p, brake.Smokes(brake.FailedSmokes(e.st, p.Name), p.Breaker), "")
}

// smokeFailed is for a smoke that did not complete.
func (e *engine) smokeFailed(f *flight, text string) {
	e.invalidate(f.p, f.cell, text, e.st.Jobs[f.Key].Last())
}
