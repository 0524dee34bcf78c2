package apply

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A gate holds a phase until its smokes have passed; then its pilots run
// alone; then everything else.
type gate struct {
	p      *phase
	place  *place.Decision  // where smokes go; nil when none is left to start
	order  []int32          // cells with a smoke that has not passed, ascending
	smokes map[int32]status // of these
	prints map[int32]string // fingerprints by cell
	failed bool
	passed int
	pilots map[int32]bool // cells that have yet to end before the rest starts
}

// loadGates takes the gates from the plan. Smokes that ended while nobody
// judged them are judged now.
func (e *engine) loadGates() {
	for _, p := range e.phases {
		p.gate.p = p
		g := p.plan.Smoke
		if g != nil && g.Place.Backend != "" {
			p.gate.place = &g.Place
		}
		if g != nil && p.Smoke != nil {
			e.loadSmokes(p, g)
		}
		e.loadPilots(p)
	}
	e.enqueue()
}

// loadPilots takes the pilots that have not completed: one that failed or is
// held keeps the rest of its phase from starting.
func (e *engine) loadPilots(p *phase) {
	for _, c := range p.Pilot {
		switch p.at[c] {
		case done, skipped, skippedDone:
			continue
		}
		if e.pilotOverridden(p, c) {
			continue
		}
		if p.gate.pilots == nil {
			p.gate.pilots = map[int32]bool{}
		}
		p.gate.pilots[int32(c)] = true
	}
}

func (e *engine) pilotOverridden(p *phase, cell int) bool {
	for i := range e.st.Overrides {
		o := &e.st.Overrides[i]
		if (o.Address == "phase."+p.Name || o.Address == p.Address(cell)) && (o.Fingerprint == "" || o.Fingerprint == p.resultText(int32(cell), false)) {
			return true
		}
	}
	return false
}

func (e *engine) loadSmokes(p *phase, g *planner.Gate) {
	p.gate.smokes, p.gate.prints = map[int32]status{}, map[int32]string{}
	for i, c := range p.Smoke.Cells {
		if i < len(g.Prints) {
			p.gate.prints[int32(c)] = g.Prints[i].String()
		}
	}
	if g.Override != "" || e.overridden(p) {
		return
	}
	add := func(c int, s status) {
		if !slices.Contains(p.gate.order, int32(c)) {
			p.gate.order = append(p.gate.order, int32(c))
			p.gate.smokes[int32(c)] = s
		}
	}
	for _, c := range g.Run {
		add(c, pending)
	}
	for _, c := range g.Waiting {
		add(c, pending)
	}
	for _, c := range g.Failed {
		add(c, failed)
		p.gate.failed = true
	}
	for key, f := range e.byJob {
		if f.p == p && f.smoke && strings.HasPrefix(key, "smoke.") {
			add(int(f.cell), f.status)
			p.gate.smokes[f.cell] = f.status
		}
	}
	slices.Sort(p.gate.order)
	for _, c := range slices.Clone(p.gate.order) {
		e.judgeLate(p, c)
	}
}

// judgeLate judges a smoke that completed in the moment a run was cut off.
func (e *engine) judgeLate(p *phase, cell int32) {
	rec := e.st.Jobs[e.recordKey(p, cell, true)]
	want := p.gate.print(cell)
	if rec == nil || want == "" || rec.Result != want || p.gate.smokes[cell] != pending {
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

// overridden reports whether a person let the gate pass whatever its prints;
// overrides of single prints are in the plan.
func (e *engine) overridden(p *phase) bool {
	for i := range e.st.Overrides {
		o := &e.st.Overrides[i]
		if o.Address == "phase."+p.Name && o.Fingerprint == "" {
			return true
		}
	}
	return false
}

func (g *gate) print(cell int32) string { return g.prints[cell] }

// shut reports whether a smoke is still to pass.
func (g *gate) shut() bool { return len(g.order) > 0 }

// piloting reports whether pilots have yet to end.
func (g *gate) piloting() bool { return len(g.pilots) > 0 }

func (g *gate) mark(cell int32, s status) {
	if _, ok := g.smokes[cell]; ok {
		g.smokes[cell] = s
	}
}

// reached notes that a cell's inputs are there, so that its smoke may run.
func (g *gate) reached(p *phase, cell int32) {
	if s, ok := g.smokes[cell]; ok && s == pending {
		g.smokes[cell] = ready
	}
}

// retry lets a smoke start anew.
func (g *gate) retry(cell int32) {
	if _, ok := g.smokes[cell]; ok {
		g.smokes[cell] = ready
	}
}

// piloted notes that a pilot has ended.
func (g *gate) piloted(cell int32) { delete(g.pilots, cell) }

// pass takes a smoke out of the gate.
func (g *gate) pass(cell int32) {
	g.order = slices.DeleteFunc(g.order, func(c int32) bool { return c == cell })
	delete(g.smokes, cell)
	g.passed++
}

// flying counts smokes that a backend has.
func (g *gate) flying() int {
	n := 0
	for _, s := range g.smokes {
		if s.inFlight() {
			n++
		}
	}
	return n
}

// dispatchSmokes starts the smokes of a phase: one after another, unless it
// says that they may run beside one another. Nothing is started after one
// failed.
func (e *engine) dispatchSmokes(p *phase) {
	g := &p.gate
	if len(g.order) == 0 || g.failed || g.place == nil || e.backends[g.place.Backend] == nil {
		return
	}
	for _, c := range slices.Clone(g.order) {
		if !p.Smoke.Parallel && g.flying() > 0 && e.Mode == Drive {
			return
		}
		if g.smokes[c] != ready && !(p.at[c] == done && g.smokes[c] == pending) {
			continue
		}
		switch e.start(p, c, true) {
		case full:
			return
		case parked:
			g.smokes[c] = pending
		}
	}
}

// dispatchPilots starts pilots, and nothing else of the phase.
func (e *engine) dispatchPilots(p *phase) {
	for c := range int32(len(p.at)) {
		if !p.gate.pilots[c] || p.at[c] != ready {
			continue
		}
		d := p.decision(c)
		if q := &p.queues[e.backends[d.Backend].ord]; !q.remove(c) {
			continue
		}
		switch e.start(p, c, false) {
		case full:
			p.queues[e.backends[d.Backend].ord].push(c)
			return
		case parked:
			p.set(c, pending)
		}
	}
}

// smokePassed judges a smoke that completed by what it was expected to say.
func (e *engine) smokePassed(f *flight, metrics map[string]string, o *offer.Observation) {
	if f.end == endRerun || f.end == endAgain {
		f.p.gate.retry(f.cell)
		return
	}
	a := e.st.Jobs[f.key].Last()
	e.validate(f.p, f.cell, metrics, a)
}

func (e *engine) validate(p *phase, cell int32, metrics map[string]string, a *state.Attempt) {
	if said := p.CheckExpect(int(cell), metrics); len(said) > 0 {
		e.invalidateWith(p, cell, strings.Join(said, "; "), metrics, a)
		return
	}
	v := e.validation(p, cell, a)
	v.Passed, v.Metrics = true, metrics
	e.emit(state.Validated{Validation: v})
	p.gate.pass(cell)
	if !p.gate.shut() {
		e.report.note(e, "phase."+p.Name, "phase."+p.Name+": smoke passed", false)
	}
}

func (e *engine) validation(p *phase, cell int32, a *state.Attempt) state.Validation {
	v := state.Validation{Fingerprint: p.gate.print(cell), Address: p.Address(int(cell)), At: e.Clock(), Class: e.environment(p, cell)}
	if a != nil && a.Usage != nil && a.Usage.Elapsed > 0 {
		v.Elapsed = a.Usage.Elapsed
	} else if a != nil && !a.Started.IsZero() && a.Ended.After(a.Started) {
		v.Elapsed = a.Ended.Sub(a.Started).Seconds()
	}
	return v
}

// environment is the class that a cell's smoke stands for: the backend that
// the cell goes to, and its GPU family.
func (e *engine) environment(p *phase, cell int32) string {
	d := p.decision(cell)
	if d == nil {
		d = p.gate.place
	}
	if d == nil {
		return ""
	}
	b := e.backends[d.Backend]
	if b == nil || d.Shape.GPUs == 0 {
		return d.Backend
	}
	pools := make([]offer.Pool, 0, len(b.pools))
	for _, name := range sortedKeys(b.pools) {
		pools = append(pools, b.pools[name])
	}
	if pool, ok := b.pools[d.Pool]; ok {
		if family := place.Family(pool, pools); family != "" {
			return d.Backend + "/" + family
		}
	}
	return d.Backend
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
	p.gate.mark(cell, failed)
	p.gate.failed = true
	text := "smoke of " + p.Address(int(cell)) + " failed: " + message + "; phase." + p.Name + " is held"
	e.report.note(e, p.Address(int(cell)), text, true)
	e.notify("failed", p.Address(int(cell)), text)
}

// smokeFailed is for a smoke that did not complete.
func (e *engine) smokeFailed(f *flight, text string) {
	e.invalidate(f.p, f.cell, text, e.st.Jobs[f.key].Last())
}
