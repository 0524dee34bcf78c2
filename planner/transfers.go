package planner

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// A Transfer moves the files of one input between backends.
type Transfer = transfers.Transfer

// A mover lists the moves of one arrangement.
type mover struct {
	*facts
	rows  []Transfer
	moves []forecast.Move // their bills
	paid  map[way]bool    // files that are among moves
}

// moving are the files that consumers of this plan read on another backend than their own, and
// the bill of the moves.
func moving(fs *facts, ps phases) ([]Transfer, []forecast.Move) {
	mv := mover{facts: fs, paid: map[way]bool{}}
	for _, w := range ps.drafts {
		if len(w.p.Inputs)+len(w.p.Raw) == 0 || !w.starts() {
			continue
		}
		mv.raw(w)
		for _, in := range w.p.Inputs {
			from := ps.byPhase[in.From.Name]
			for _, t := range transfers.Of(fs.filesystems, w.placed(), from.placed(), in) {
				mv.add(from.p.Name, t, from.results())
			}
		}
	}
	return mv.rows, mv.moves
}

// raw lists the files that no phase makes and that jobs read where these
// are not.
func (mv *mover) raw(w *draft) {
	for _, in := range w.p.Raw {
		raw := transfers.Raw{RawInput: in, Files: func(i int) []result.File { return w.pp.RawFiles(in, i) },
			Elsewhere: func(address string) bool {
				b := mv.backend(address)
				return b != nil && mv.in.Can[b.Type].Remote
			},
			There: func(at transfers.Filesystem, f result.File) bool {
				size, ok := mv.in.Observed.Copied[at.Name()][f.Copy()]
				return ok && size == f.Size && f.Digest != ""
			}}
		for _, t := range transfers.OfRaw(mv.filesystems, w.placed(), raw) {
			mv.add(w.p.Name, t, nil)
		}
	}
}

// add lists a transfer of a phase's output, and its cost. A file that others read there, too,
// goes once.
func (mv *mover) add(phase string, t Transfer, records []*state.Job) {
	from, pool := mv.backend(t.From), ceiling.Pool(mv.in.Pools, t.From, t.FromHost)
	t.Price(place.OutRate(from, pool), records)
	mv.rows = append(mv.rows, t)
	if t.Cost == nil {
		return
	}
	var unpaid int64
	for _, cell := range t.Cells {
		w := way{phase, t.Output, t.From + "/" + t.FromHost, t.To + "/" + t.ToHost, cell}
		if !mv.paid[w] {
			mv.paid[w] = true
			unpaid++
		}
	}
	if unpaid == 0 {
		return
	}
	out := forecast.Move{Phase: phase, Backend: t.From, Pool: t.FromHost, Mark: forecast.Known}
	if t.Cost.Guessed || place.OutGuessed(from, pool) {
		out.Mark = forecast.Estimated
	}
	if t.Cost.Expected != "" {
		share := func(text string) string {
			return amount.Of(text).Mul(decimal.NewFromInt(unpaid)).Div(decimal.NewFromInt(int64(len(t.Cells)))).RoundCeil(9).String()
		}
		out.Expected, out.AtMost = share(t.Cost.Expected), share(t.Cost.AtMost)
	}
	mv.moves = append(mv.moves, out)
}

// A way is that of one producer's output between two filesystems.
type way struct {
	phase, output, from, to string
	cell                    int32
}
