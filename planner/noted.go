package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// shownNoted is how many notes a plan shows; the report has all.
const shownNoted = 5

// noted are the newest notes on jobs that the plan does something with, and on
// their phases.
func (ps phases) noted(st *state.State) (out []string) {
	var found []state.Note
	for address, notes := range st.Notes {
		at, err := addr.Parse(address)
		if err != nil {
			continue
		}
		w := ps.byPhase[at.Phase]
		if w == nil {
			continue
		}
		cell, ok := w.p.Index(at.Key)
		onPhase := address == "phase."+at.Phase
		if onPhase && slices.ContainsFunc(w.pp.Kind, Kind.acts) || ok && w.pp.Kind[cell].acts() {
			found = append(found, notes...)
		}
	}
	slices.SortFunc(found, func(a, b state.Note) int {
		if d := b.At.Compare(a.At); d != 0 {
			return d
		}
		return slices.Compare([]string{a.Address, a.Text}, []string{b.Address, b.Text})
	})
	for i, n := range found {
		if i == shownNoted {
			return append(out, fmt.Sprintf("%d more notes: `muster report` shows them", len(found)-i))
		}
		out = append(out, fmt.Sprintf("note on %s by %s, %s: %s", n.Address, n.Who, n.At.Format("2006-01-02"), n.Text))
	}
	return out
}

// acts reports whether a plan does something with a job, or waits to.
func (k Kind) acts() bool { return k != None && k != Skipped }
