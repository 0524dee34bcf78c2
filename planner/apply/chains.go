package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/unattended"
)

// chains say which jobs may be queued behind others, so that their queue runs
// them in order without muster.
type chains struct {
	*jobs
	inputs *inputs
}

// gateRides reports whether a phase's jobs may be queued behind its smokes:
// only if nothing but their success is expected, on the backend where they run.
func (ch *chains) gateRides(p *phase) bool {
	if _, stopped := p.Gate.Stopped(); stopped || p.Smoke == nil || p.Gate.Place == nil {
		return false
	}
	b := ch.backends.At(p.Gate.Place.Backend, p.Gate.Place.Pool)
	if b == nil {
		return false
	}
	queued := true
	for d := range p.places.All() {
		queued = queued && ch.backends.At(d.Backend, d.Pool) == b
	}
	for _, c := range p.Gate.Order {
		f := ch.byJob[p.recordKey(c, true)]
		queued = queued && p.Gate.Smokes[c].InFlight() && f != nil && f.End == backends.Stays && !f.oldSmoke()
	}
	why := unattended.Waits(b.Can, unattended.Link{Kind: unattended.Smoke, Phase: p.Name, Backend: b.Name, Expect: p.Smoke.Judged(), Again: p.Smoke.RunsAgain(), Queued: queued})
	return why == unattended.Wait{}
}

// pilotsRide reports whether jobs may be queued behind the pilots of their
// phase: only where all of these are.
func (ch *chains) pilotsRide(p *phase, b *backends.Backend) bool {
	for c := range p.Gate.Pilots {
		if !ch.on(p, c, b) {
			return false
		}
	}
	return true
}

// ridesAfter says why a cell that waits for others cannot be queued behind
// them, "" if it can.
func (ch *chains) ridesAfter(p *phase, cell int32) string {
	d := p.places.Of(cell)
	if d == nil || ch.backends.Contacts[d.Backend] == nil {
		return p.Address(int(cell)) + " has no place"
	}
	b := ch.backends.At(d.Backend, d.Pool)
	for _, ed := range p.inputs {
		group := ed.In.GroupOf(int(cell))
		out := jobspec.OutputOf(ed.from.Phase, ed.In.Output, -1)
		glob := out != nil && string(out.Kind) == "glob" && ed.Need[group] > 0
		for _, m := range ed.Members(group) {
			done := ed.from.At[m].Satisfied()
			l := unattended.Link{Phase: p.Name, From: ed.from.Name, Backend: b.Name, Done: done && !glob, Glob: glob, Partial: ed.In.Partial() && ed.Need[group] > 0,
				Moves: done && !ch.inputs.staging.Together() && !ch.inputs.staging.Present(&ed.Edge, int32(m), b.Filesystem(d.Pool)), Queued: ch.on(ed.from, int32(m), b)}
			if why := unattended.Waits(b.Can, l); why.Elsewhere {
				return comesAfter(why.Text, p, ed.from, int32(m))
			} else if why.Text != "" {
				return why.Text
			}
		}
	}
	if why := ch.ridesAfterPhases(p, b); why != "" || len(p.Gate.Pilots) == 0 || p.Gate.Pilots[cell] {
		return why
	}
	return unattended.Waits(b.Can, unattended.Link{Kind: unattended.Pilot, Phase: p.Name, Backend: b.Name, Queued: ch.pilotsRide(p, b)}).Text
}

func (ch *chains) ridesAfterPhases(p *phase, b *backends.Backend) string {
	for _, n := range p.Awaits {
		if n.Undone == 0 {
			continue
		}
		from := ch.phases[n.Ord]
		for m := range int32(len(from.At)) {
			l := unattended.Link{Kind: unattended.Order, Phase: p.Name, From: from.Name, Backend: b.Name, Done: from.At[m].Satisfied(), Queued: ch.on(from, m, b)}
			if why := unattended.Waits(b.Can, l); why.Elsewhere {
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
		return fmt.Sprintf("phase.%s waits for phase.%s (%s: %s): see `muster status`; after a fix, `muster resume phase.%s` and `muster apply`",
			p.Name, from.Name, units.Count(len(from.At), "job"), strings.Join(ends, ", "), from.Name)
	}
	return why
}

// on reports whether a cell is submitted to a backend.
func (ch *chains) on(p *phase, cell int32, b *backends.Backend) bool {
	if !p.At[cell].InFlight() && p.At[cell] != cells.Waiting {
		return false
	}
	f := ch.byJob[p.Address(int(cell))]
	return f != nil && f.B == b && f.End == backends.Stays
}

// after are the tokens of the jobs behind which an attempt is queued.
func (ch *chains) after(f *attempt) []string {
	if !ch.leavesJobs() {
		return nil
	}
	var tokens []string
	add := func(key string) {
		if o := ch.byJob[key]; o != nil && o.B == f.B && o != f {
			tokens = append(tokens, o.Token)
		}
	}
	for from, m := range f.p.Ahead(f.cell) {
		add(ch.phases[from.Ord].Address(int(m)))
	}
	tokens = append(tokens, ch.afterGate(f)...)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// afterGate are the smokes and pilots that a job comes after: a smoke after
// the smokes before it, a pilot after all smokes, the rest after the pilots.
func (ch *chains) afterGate(f *attempt) []string {
	var tokens []string
	for _, c := range f.p.Gate.Order {
		if f.smoke && (c >= f.cell || f.p.Smoke.Parallel) {
			continue
		}
		if o := ch.byJob[f.p.recordKey(c, true)]; o != nil && o.B == f.B && !o.oldSmoke() {
			tokens = append(tokens, o.Token)
		}
	}
	if f.smoke || f.p.Gate.Pilots[f.cell] {
		return tokens
	}
	for c := range f.p.Gate.Pilots {
		if o := ch.byJob[f.p.Address(int(c))]; o != nil && o.B == f.B {
			tokens = append(tokens, o.Token)
		}
	}
	return tokens
}
