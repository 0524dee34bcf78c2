package apply

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestOrphanIsInTheNextPlan: a machine that nobody remembers renting is in a plan
// with its price, also where no job goes; a machine that the state knows is none, and
// one that is gone is in no plan.
func TestOrphanIsInTheNextPlan(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(rentedPhase, "candidates = [backend.far.x]", "candidates = [backend.local.local]", 1))
	s.world.can.Rents = true
	s.rents("known", "running")
	s.rents("gone", "deleting")
	s.world.rentals = [][]offer.Rental{{
		{ID: "lost", Rate: "0.35", Status: offer.RentalRunning, Orphan: true},
		{ID: "known", Rate: "0.40", Status: offer.RentalRunning, Orphan: true},
		{ID: "gone", Rate: "0.60", Status: offer.RentalReleased},
		{ID: "over", Rate: "0.60", Status: offer.RentalReleased, Orphan: true},
	}}
	s.opts = planner.Options{Destroy: true}
	p := s.plan(s.load(), s.state(), &fake{world: s.world})
	got := map[string]planner.Row{}
	for _, r := range p.Loose {
		got[r.Address] = r
	}
	if o := got["lost"]; o.Kind != planner.UnknownAt || o.PerHour != "0.35" || !strings.Contains(o.Detail.Text, "orphan on far.x") {
		t.Errorf("the orphan is %+v", o)
	}
	if k := got["known"]; !k.Release || k.PerHour != "0.40" {
		t.Errorf("the machine that is known is %+v", k)
	}
	if len(got) != 2 {
		t.Errorf("rows %+v", p.Loose)
	}
}

// refreshed is apply -refresh-only.
func (s *stage) refreshed() {
	s.t.Helper()
	f, m, c := &fake{world: s.world}, s.disk.open(nil), s.load()
	r := refresh.Observe(s.t.Context(), refresh.Input{Campaign: c, State: m.st, Provider: func(string) (providers.Provider, error) { return f, nil }, Now: time.Now(), Refresh: true})
	if err := Record(s.t.Context(), s.config(s.plan(c, m.st, f), c, m, f), r.Observed); err != nil {
		s.t.Fatal(err)
	}
}

// TestRecordNotesMachines: what clouds say of machines is recorded with what they
// bill, and once.
func TestRecordNotesMachines(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	s := newStage(t, rentedPhase)
	s.world.can.Rents = true
	s.world.rentals = [][]offer.Rental{{
		{ID: "r1", Kind: "1× RTX 4090", Rate: "0.36", Status: offer.RentalReleased, Since: began.Add(time.Hour), Began: began, Ended: began.Add(time.Hour), Billed: "0.37"},
		{ID: "lost", Rate: "0.35", Status: offer.RentalRunning, Orphan: true},
	}}
	for range 2 {
		s.refreshed()
	}
	want := state.Rental{ID: "r1", Kind: "1× RTX 4090", Backend: "far.x", PerHour: "0.36", Status: state.RentalReleased, Since: began.Add(time.Hour), Began: began, Ended: began.Add(time.Hour), Billed: "0.37"}
	if got := s.state().Rentals; len(got) != 1 || got["r1"] != want {
		t.Errorf("%+v", got)
	}
	if n := len(slices.DeleteFunc(slices.Clone(s.disk.events), func(e state.Event) bool { _, is := e.(state.Rented); return !is })); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}
