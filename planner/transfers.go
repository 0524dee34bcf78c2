package planner

import (
	"slices"

	"github.com/muster-run/muster/planner/transfers"
)

// A Transfer moves the files of one input between backends.
type Transfer = transfers.Transfer

// transfers lists the files that consumers of this plan read on another
// backend than where they lie.
func (m *maker) transfers() {
	for _, w := range m.works {
		if len(w.p.Inputs) == 0 || !w.starts() {
			continue
		}
		for _, in := range w.p.Inputs {
			m.plan.Transfers = append(m.plan.Transfers, transfers.Of(m.spots, w.placed(), m.byPhase[in.From.Name].placed(), in)...)
		}
	}
}

// placed is a phase as transfers see it.
func (w *work) placed() *transfers.Phase {
	return &transfers.Phase{Phase: w.p, Starts: func(i int) bool { return w.pp.Kind[i].Starts() }, Place: w.pp.Place, Placements: w.pp.Placements, Records: w.rec}
}

// starts reports whether a job of the phase starts now.
func (w *work) starts() bool { return slices.ContainsFunc(w.pp.Kind, Kind.Starts) }
