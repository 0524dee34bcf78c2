package planner

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
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
			from := m.byPhase[in.From.Name]
			for _, t := range transfers.Of(m.spots, w.placed(), from.placed(), in) {
				rate := place.OutRate(m.backend(t.From), launches.Pool(m.in.Pools, t.From, t.FromHost))
				t.Price(rate, from.results())
				m.plan.Transfers = append(m.plan.Transfers, t)
				m.move(from.p.Name, t)
			}
		}
	}
}

// move has what a transfer costs counted in the forecast. A file that others
// read there, too, goes once.
func (m *maker) move(phase string, t Transfer) {
	if t.Cost == nil {
		return
	}
	if m.paid == nil {
		m.paid = map[way]bool{}
	}
	var unpaid int64
	for _, cell := range t.Cells {
		w := way{phase, t.Output, t.From + "/" + t.FromHost, t.To + "/" + t.ToHost, cell}
		if !m.paid[w] {
			m.paid[w] = true
			unpaid++
		}
	}
	if unpaid == 0 {
		return
	}
	out := forecast.Move{Phase: phase, Backend: t.From, Pool: t.FromHost, Mark: forecast.Known}
	if t.Cost.Guessed || place.OutGuessed(m.backend(t.From), launches.Pool(m.in.Pools, t.From, t.FromHost)) {
		out.Mark = forecast.Estimated
	}
	if t.Cost.Expected != "" {
		share := func(text string) string {
			return amount.Of(text).Mul(decimal.NewFromInt(unpaid)).Div(decimal.NewFromInt(int64(len(t.Cells)))).RoundCeil(9).String()
		}
		out.Expected, out.AtMost = share(t.Cost.Expected), share(t.Cost.AtMost)
	}
	m.moves = append(m.moves, out)
}

// A way is that of one producer's output between two spots.
type way struct {
	phase, output, from, to string
	cell                    int32
}

func (m *maker) backend(address string) *lang.Backend {
	for _, b := range m.in.Campaign.Backends {
		if b.Address() == address {
			return b
		}
	}
	return nil
}

// placed is a phase as transfers see it.
func (w *work) placed() *transfers.Phase {
	return &transfers.Phase{Phase: w.p, Starts: func(i int) bool { return w.pp.Kind[i].Starts() }, Place: w.pp.Place, Placements: w.pp.Placements, Records: w.results()}
}

// starts reports whether a job of the phase starts now.
func (w *work) starts() bool { return slices.ContainsFunc(w.pp.Kind, Kind.Starts) }
