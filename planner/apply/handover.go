package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/handover"
)

// handingOver reports whether this run leaves jobs to run without muster.
func (e *engine) handingOver() bool { return e.Mode != Drive }

// handOver gives backends everything that they run by themselves: what is
// ready, and what comes after jobs that lie on the same backend. It stops, in
// each phase, at the first thing that needs the engine, and names it.
func (e *engine) handOver() {
	if e.halted != standing.None || e.fleet.Unanswered > 0 || e.holds.All || e.freight.Shipping() {
		return
	}
	for _, p := range e.phases {
		if p.breaker.Open || e.holds.Phases[p.Name] {
			continue
		}
		e.dispatchSmokes(p) // each after the one before
		if p.Gate.Shut() && !e.gateRides(p) {
			e.needs(fmt.Sprintf("phase.%s waits for its smoke", p.Name))
			continue
		}
		for _, pilots := range []bool{true, false} { // the rest comes after them
			if !e.handCells(p, pilots) {
				return
			}
		}
	}
}

// handCells hands over what waits for others on the same backend: the pilots
// of a phase, or the rest. It reports whether there was room.
func (e *engine) handCells(p *phase, pilots bool) bool {
	for c := range int32(len(p.At)) {
		if p.At[c] != cells.Pending || p.Waits[c] == 0 || p.Gate.Pilots[c] != pilots {
			continue
		}
		if why := e.ridesAfter(p, c); why != "" {
			e.needs(why)
			continue
		}
		if e.start(p, c, false) == full {
			return false // it said why
		}
	}
	return true
}

// needs notes the first thing that muster has to do.
func (e *engine) needs(what string) {
	if e.first == "" {
		e.first = what
	}
}

// gateRides reports whether a phase's jobs may be queued behind its smokes:
// only if nothing but their success is expected, on the backend where they run.
func (e *engine) gateRides(p *phase) bool {
	if p.Gate.Failed || p.Smoke == nil || p.Gate.Place == nil {
		return false
	}
	b := e.fleet.At(p.Gate.Place.Backend, p.Gate.Place.Pool)
	if b == nil {
		return false
	}
	queued := true
	for d := range p.places.All() {
		queued = queued && e.fleet.At(d.Backend, d.Pool) == b
	}
	for _, c := range p.Gate.Order {
		f := e.byJob[e.recordKey(p, c, true)]
		queued = queued && p.Gate.Smokes[c].InFlight() && f != nil && f.End == fleet.Stays
	}
	why := handover.Waits(b.Can, handover.Link{Kind: handover.Smoke, Phase: p.Name, Backend: b.Name, Expect: len(p.Smoke.Expect) > 0, Queued: queued})
	return why == handover.Reason{}
}

// pilotsRide reports whether jobs may be queued behind the pilots of their
// phase: only where all of these lie.
func (e *engine) pilotsRide(p *phase, b *fleet.Backend) bool {
	for c := range p.Gate.Pilots {
		if !e.on(p, c, b) {
			return false
		}
	}
	return true
}

// ridesAfter says why a cell that waits for others cannot be queued behind
// them, "" if it can.
func (e *engine) ridesAfter(p *phase, cell int32) string {
	d := p.places.Of(cell)
	if d == nil || e.fleet.Contacts[d.Backend] == nil {
		return p.Address(int(cell)) + " has no place"
	}
	b := e.fleet.At(d.Backend, d.Pool)
	for _, ed := range p.inputs {
		group := ed.In.GroupOf(int(cell))
		out := sheet.OutputOf(ed.from.Phase, ed.In.Output, -1)
		glob := out != nil && string(out.Kind) == "glob" && ed.Need[group] > 0
		for _, m := range ed.In.Members(group) {
			done := ed.from.At[m].Satisfied()
			l := handover.Link{Phase: p.Name, From: ed.from.Name, Backend: b.Name, Done: done && !glob, Glob: glob,
				Moves: done && !e.freight.Together() && !e.freight.Lies(&ed.Edge, int32(m), b.Spot(d.Pool)), Queued: e.on(ed.from, int32(m), b)}
			if why := handover.Waits(b.Can, l); why.Elsewhere {
				return comesAfter(why.Text, p, ed.from, int32(m))
			} else if why.Text != "" {
				return why.Text
			}
		}
	}
	if why := e.ridesAfterPhases(p, b); why != "" || len(p.Gate.Pilots) == 0 || p.Gate.Pilots[cell] {
		return why
	}
	return handover.Waits(b.Can, handover.Link{Kind: handover.Pilot, Phase: p.Name, Backend: b.Name, Queued: e.pilotsRide(p, b)}).Text
}

func (e *engine) ridesAfterPhases(p *phase, b *fleet.Backend) string {
	for _, n := range p.Awaits {
		if n.Undone == 0 {
			continue
		}
		from := e.phases[n.Ord]
		for m := range int32(len(from.At)) {
			l := handover.Link{Kind: handover.Order, Phase: p.Name, From: from.Name, Backend: b.Name, Done: from.At[m].Satisfied(), Queued: e.on(from, m, b)}
			if why := handover.Waits(b.Can, l); why.Elsewhere {
				return comesAfter(why.Text, p, from, m)
			} else if why.Text != "" {
				return why.Text
			}
		}
	}
	return ""
}

// comesAfter says what keeps a phase from being queued behind a cell of another:
// why, or that the cell did not end well and muster alone does nothing about it.
func comesAfter(why string, p, from *phase, cell int32) string {
	var ends []string
	for _, end := range []struct {
		status cells.Status
		word   string
	}{{cells.Failed, "failed"}, {cells.Held, "held"}, {cells.Cancelled, "cancelled"}} {
		if n := from.Counts[end.status]; n > 0 {
			ends = append(ends, fmt.Sprintf("%d %s", n, end.word))
		}
	}
	switch from.At[cell] {
	case cells.Failed, cells.Held, cells.Cancelled:
		return fmt.Sprintf("phase.%s comes after phase.%s, of whose %s %s: see `muster status`; after a fix, `muster resume phase.%s` and `muster apply`",
			p.Name, from.Name, units.Count(len(from.At), "job"), strings.Join(ends, ", "), from.Name)
	}
	return why
}

// on reports whether a cell is handed over to a backend.
func (e *engine) on(p *phase, cell int32, b *fleet.Backend) bool {
	if !p.At[cell].InFlight() && p.At[cell] != cells.Waiting {
		return false
	}
	f := e.byJob[p.Address(int(cell))]
	return f != nil && f.B == b && f.End == fleet.Stays
}

// after are the tokens that a job handed over comes after.
func (e *engine) after(f *flight) []string {
	if !e.handingOver() {
		return nil
	}
	var tokens []string
	add := func(key string) {
		if o := e.byJob[key]; o != nil && o.B == f.B && o != f {
			tokens = append(tokens, o.Token)
		}
	}
	for from, m := range f.p.Ahead(f.cell) {
		add(e.phases[from.Ord].Address(int(m)))
	}
	tokens = append(tokens, e.afterGate(f)...)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// afterGate are the smokes and pilots that a job comes after: a smoke after
// the smokes before it, a pilot after all smokes, the rest after the pilots.
func (e *engine) afterGate(f *flight) []string {
	var tokens []string
	for _, c := range f.p.Gate.Order {
		if f.smoke && (c >= f.cell || f.p.Smoke.Parallel) {
			continue
		}
		if o := e.byJob[e.recordKey(f.p, c, true)]; o != nil && o.B == f.B {
			tokens = append(tokens, o.Token)
		}
	}
	if f.smoke || f.p.Gate.Pilots[f.cell] {
		return tokens
	}
	for c := range f.p.Gate.Pilots {
		if o := e.byJob[f.p.Address(int(c))]; o != nil && o.B == f.B {
			tokens = append(tokens, o.Token)
		}
	}
	return tokens
}

// handedOver reports whether a hand-over is complete: nothing is being sent,
// looked for or moved. A transfer is the engine's work, so -once sees it
// through and -detach names it.
func (e *engine) handedOver() bool {
	if e.fleet.Unanswered > 0 || e.freight.Shipping() || e.freight.Asking() || e.sending() {
		return false
	}
	return !e.freight.Transferring() && !e.fleet.Unsettled()
}
