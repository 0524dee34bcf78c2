package cells

import (
	"slices"

	"github.com/muster-run/muster/planner/place"
)

// A Gate holds a phase until its smokes have passed; then its pilots run
// alone; then everything else.
type Gate struct {
	Place  *place.Decision  // where smokes go; nil when none is left to start
	Order  []int32          // cells with a smoke that has not passed, ascending
	Smokes map[int32]Status // of these
	Prints map[int32]string // fingerprints by cell
	Pilots map[int32]bool   // cells that have yet to end before the rest starts
}

// Print is the fingerprint of a cell's smoke.
func (g *Gate) Print(cell int32) string { return g.Prints[cell] }

// Shut reports whether a smoke is still to pass.
func (g *Gate) Shut() bool { return len(g.Order) > 0 }

// Stopped is the first cell whose smoke did not pass and does not run again by itself: it
// failed, was cancelled, or is held.
func (g *Gate) Stopped() (cell int32, ok bool) {
	for _, c := range g.Order {
		switch g.Smokes[c] {
		case Failed, Cancelled, Held:
			return c, true
		}
	}
	return 0, false
}

// Piloting reports whether pilots have yet to end.
func (g *Gate) Piloting() bool { return len(g.Pilots) > 0 }

// Before reports whether others of its phase come before a cell's job: smokes,
// or pilots.
func (g *Gate) Before(cell int32) bool { return g.Shut() || g.Piloting() && !g.Pilots[cell] }

// Mark notes where a smoke is.
func (g *Gate) Mark(cell int32, s Status) {
	if _, ok := g.Smokes[cell]; ok {
		g.Smokes[cell] = s
	}
}

// Reached notes that a cell's inputs are there, so that its smoke may run.
func (g *Gate) Reached(cell int32) {
	if s, ok := g.Smokes[cell]; ok && s == Pending {
		g.Smokes[cell] = Ready
	}
}

// Retry lets a smoke start again.
func (g *Gate) Retry(cell int32) {
	if _, ok := g.Smokes[cell]; ok {
		g.Smokes[cell] = Ready
	}
}

// Again shuts the gate until the smoke of a cell has passed once more.
func (g *Gate) Again(cell int32) {
	if g.Smokes == nil {
		g.Smokes = map[int32]Status{}
	}
	if _, ok := g.Smokes[cell]; !ok {
		g.Order = append(g.Order, cell)
		slices.Sort(g.Order)
	}
	g.Smokes[cell] = Ready
}

// Piloted notes that a pilot has ended.
func (g *Gate) Piloted(cell int32) { delete(g.Pilots, cell) }

// Pass takes a smoke out of the gate.
func (g *Gate) Pass(cell int32) {
	g.Order = slices.DeleteFunc(g.Order, func(c int32) bool { return c == cell })
	delete(g.Smokes, cell)
}

// InFlight counts smokes that a backend has.
func (g *Gate) InFlight() int {
	n := 0
	for _, s := range g.Smokes {
		if s.InFlight() {
			n++
		}
	}
	return n
}
