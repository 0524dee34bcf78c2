package apply

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// personHolds are the holds in force: for everything, for phases, for selections.
type personHolds struct {
	All    bool
	Phases map[string]bool
	Some   []addr.Selection
	Text   string // whose, and why
}

// personHoldsOf takes the holds from a state.
func personHoldsOf(st *state.State) personHolds {
	hs := personHolds{Phases: map[string]bool{}}
	for _, h := range st.Holds {
		hs.add(h)
	}
	return hs
}

// Any reports whether something is held.
func (hs *personHolds) Any() bool { return hs.All || len(hs.Phases)+len(hs.Some) > 0 }

// add takes a hold in. One that names nothing we understand holds everything:
// the safe reading of a person's word.
func (hs *personHolds) add(h state.Hold) {
	hs.Text = "held by " + h.Who
	if h.Reason != "" {
		hs.Text += ": " + h.Reason
	}
	name := strings.TrimPrefix(h.Address, "phase.")
	switch {
	case h.Address == "":
		hs.All = true
	case name != h.Address && addr.ValidName(name):
		hs.Phases[name] = true
	default:
		sel, err := addr.ParseSelection(h.Address)
		if err != nil {
			hs.All = true
			return
		}
		hs.Some = append(hs.Some, sel)
	}
}

// Covers reports whether a cell may not start. A nil phase, of a job that the
// campaign does not want, is covered by a hold of everything alone.
func (hs *personHolds) Covers(p *lang.Phase, cell int) bool {
	if hs.All {
		return true
	}
	if p == nil {
		return false
	}
	if hs.Phases[p.Name] {
		return true
	}
	for i := range hs.Some {
		if hs.Some[i].Match(addr.Job{Phase: p.Name, Key: p.Key(cell)}, p.Label(cell)) {
			return true
		}
	}
	return false
}
