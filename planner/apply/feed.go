package apply

import (
	"iter"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/providers"
)

// newFreight is what moves files for this run.
func (e *engine) newFreight() *freight.Freight {
	return freight.New(freight.Run{
		Loop: e.Loop, Ctx: e.Context(), Campaign: e.Campaign, State: e.st, Fence: e.Session.Fence(), Holder: e.Session.Holder(), Emit: e.emit, Now: e.Clock, Later: e.Later,
		Note: e.report.Note,
		Places: func() iter.Seq[*line.Place] {
			return func(yield func(*line.Place) bool) {
				for _, c := range e.fleet.Contacts {
					if !yield(&c.Place) {
						return
					}
				}
			}
		},
		At: func(name, pool string) *freight.Berth {
			if b := e.fleet.At(name, pool); b != nil {
				return b.Berth
			}
			return nil
		},
		Ask:       func(b *freight.Berth) { e.fleet.AskPools(e.fleet.Contacts[b.Name]) },
		Pay:       e.pay,
		Billed:    func(f freight.Fare) bool { _, billed := e.fare(f); return billed },
		Stopped:   func() bool { return e.halted != standing.None },
		HandsOver: e.handingOver(), Detached: e.Mode == Detach, Play: e.Play,
	})
}

// spot is where a flight's files lie.
func (f *flight) spot() site.Spot { return f.B.Spot(f.Pool) }

// inputPaths are the absolute paths of an input's files where the job runs,
// in key order.
func (e *engine) inputPaths(f *flight, name string) []string {
	for _, ed := range f.p.inputs {
		if ed.In.Name == name {
			return e.freight.Paths(&ed.Edge, f.cell, f.B.Berth, f.spot())
		}
	}
	return e.rawPaths(f, name)
}

// inputRecords are what was recorded of an input's files where the job runs.
func (e *engine) inputRecords(f *flight, name string) []providers.Recorded {
	for _, ed := range f.p.inputs {
		if ed.In.Name == name {
			return e.freight.Recorded(&ed.Edge, f.cell, f.B.Berth, f.spot())
		}
	}
	return e.rawRecords(f, name)
}

// inputBytes are, by input, the digests of the bytes that a job reads.
func (e *engine) inputBytes(p *phase, cell int32) map[string]string {
	out := make(map[string]string, len(p.inputs))
	for _, ed := range p.inputs {
		if text := e.freight.Bytes(&ed.Edge, cell); text != "" {
			out[ed.In.Name] = text
		}
	}
	return out
}

// inputsReady reports whether a cell's producers are all there.
func (e *engine) inputsReady(f *flight) bool { return f.p.Waits[f.cell] == 0 || e.handingOver() }

// inputsFound reports whether all that a flight reads is known to be where it
// runs.
func (e *engine) inputsFound(f *flight) bool {
	for _, ed := range f.p.inputs {
		if !e.freight.Found(&ed.Edge, f.cell, f.spot()) {
			return false
		}
	}
	return true
}

// inputsHere says whether a cell's inputs are where it is to run: started when
// they are, parked while they come, and refused when they do not.
func (e *engine) inputsHere(p *phase, cell int32, b *fleet.Backend, pool string, smoke bool) verdict {
	for _, ed := range p.inputs {
		switch v, why := e.freight.Bring(&ed.Edge, cell, b.Berth, pool, smoke); v {
		case freight.Never:
			e.refuseCell(p, cell, smoke, why)
			return refused
		case freight.Coming:
			return parked
		}
	}
	return started
}

// refuseCell holds a cell, or its smoke, that lacks what it needs.
func (e *engine) refuseCell(p *phase, cell int32, smoke bool, why string) {
	if !smoke {
		e.holdJob(p, cell, why)
		return
	}
	p.Gate.Mark(cell, cells.Held)
	e.report.Note(p.Address(int(cell)), "the smoke of "+p.Address(int(cell))+" is held: "+why, true)
}

// unpark lets cells look again for what they read; -1-cell is a smoke.
func (e *engine) unpark(p *phase, late []int32) {
	for _, c := range late {
		if c < 0 {
			p.Gate.Retry(-1 - c)
		} else if p.At[c] == cells.Pending {
			e.makeReady(p, c)
		}
	}
}

// carryAhead moves what a producer made to where its consumers are planned,
// before all their inputs are there.
func (e *engine) carryAhead(ed *edge, producer int32) {
	g := ed.Group[producer]
	if g < 0 || e.Mode == Detach {
		return
	}
	for _, c := range ed.Consumers(int(g)) {
		if s := ed.to.At[c]; s != cells.Pending && s != cells.Ready {
			continue
		}
		if d := ed.to.places.Of(c); d != nil && e.fleet.Contacts[d.Backend] != nil {
			e.freight.Ahead(&ed.Edge, producer, e.fleet.At(d.Backend, d.Pool).Berth, d.Pool)
		}
	}
}

// loadTransfers begins with what was made before this run.
func (e *engine) loadTransfers() {
	if e.freight.Together() {
		return
	}
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for m := range int32(len(ed.from.At)) {
				if ed.from.At[m].Satisfied() {
					e.carryAhead(ed, m)
				}
			}
		}
	}
}

// loadCode notes what source each phase has, and begins to ship what the plan
// needs.
func (e *engine) loadCode() {
	for _, p := range e.phases {
		if p.Source == nil || p.plan.Source.Digest == "" {
			continue
		}
		p.source = p.plan.Source.Digest
		if p.Counts[cells.Done]+p.Counts[cells.Skipped]+p.Counts[cells.SkippedDone] == len(p.At) && len(p.Gate.Order) == 0 {
			continue
		}
		for d := range p.places.All() {
			if e.fleet.Contacts[d.Backend] != nil {
				e.freight.Ship(p.Phase, p.source, e.fleet.At(d.Backend, d.Pool).Berth, d.Pool)
			}
		}
		if d := p.Gate.Place; d != nil && e.fleet.Contacts[d.Backend] != nil {
			e.freight.Ship(p.Phase, p.source, e.fleet.At(d.Backend, d.Pool).Berth, d.Pool)
		}
	}
}

// codeHere says whether a phase's source is where a job is to run: full while
// it is on its way.
func (e *engine) codeHere(p *phase, b *fleet.Backend, pool string) (verdict, string) {
	if p.source == "" {
		return started, ""
	}
	switch s := e.freight.Ship(p.Phase, p.source, b.Berth, pool); {
	case s.Arrived:
		return started, ""
	case s.Err != nil:
		return refused, "its source could not be copied: " + s.Err.Error()
	}
	return full, ""
}
