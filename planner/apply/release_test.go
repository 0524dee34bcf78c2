package apply

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const rentedPhase = `
backend "far" "x" {
  price   = { usd_per_hour = 1 }
  hold    = "10m"
  on_hold = "release"
}
phase "a" {
  place { candidates = [backend.far.x] }
  job {
    command = "echo > ${output.o}"
    resources { walltime = "1h" }
    output "o" { path = "a.txt" }
  }
}`

// rents has the stage's campaign rent a machine.
func (s *stage) rents(id string, status state.RentalStatus) {
	s.disk.events = append(s.disk.events, state.Rented{Rental: state.Rental{ID: id, Backend: "far.x", Status: status, PerHour: "0.60", Since: time.Now()}})
}

// TestMachineIsBilledUntilItIsGone: a provider that took the order and lists the
// machine still has it billed, and asked for again by the next plan.
func TestMachineIsBilledUntilItIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t, rentedPhase)
	s.rents("r1", "idle")
	s.conf = func(c *Config) { c.Time = &hasty{from: time.Now()} }
	s.world.rentals = [][]offer.Rental{{{ID: "r1", Status: offer.RentalRunning}}}
	s.opts = planner.Options{Destroy: true}
	for _, c := range []struct {
		lingers string
		status  state.RentalStatus
	}{{"the machine is listed still", "deleting"}, {"the machine is listed still", "deleting"}, {"", "released"}} {
		s.world.lingers = c.lingers
		s.must(t.Context())
		r := s.state().Rentals["r1"]
		if r.Status != c.status || r.PerHour != "0.60" || r.Since.IsZero() {
			t.Fatalf("%q: %+v", c.lingers, r)
		}
	}
	if !strings.Contains(strings.Join(s.notes, "\n"), "r1 on backend.far.x was not released, and is billed: ") {
		t.Errorf("notes %q", s.notes)
	}
	s.must(t.Context())
	if len(s.world.released) != 3 {
		t.Errorf("asked for %v", s.world.released)
	}
}

// TestRunWaitsUntilAMachineIsGone: a run that asked for a release asks for the list, not for
// the release again, until the machine is gone.
func TestRunWaitsUntilAMachineIsGone(t *testing.T) {
	// Requirement: TDN-03
	t.Parallel()
	for name, gone := range map[string][]offer.Rental{
		"listed as gone": {{ID: "r1", Status: offer.RentalReleased}},
		"not listed":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, rentedPhase)
			s.conf = func(c *Config) { c.Time = &hasty{from: time.Now()} }
			s.rents("r1", "idle")
			s.opts = planner.Options{Destroy: true}
			there := []offer.Rental{{ID: "r1", Status: offer.RentalRunning, Rate: "0.60"}}
			s.world.lingers, s.world.rentals = "the machine is listed still", [][]offer.Rental{there, there, gone}
			if o := s.must(t.Context()); o.Released != 1 {
				t.Errorf("%d machines are counted as released", o.Released)
			}
			if r := s.state().Rentals["r1"]; r.Status != state.RentalReleased || r.PerHour != "0.60" {
				t.Errorf("%+v", r)
			}
			if len(s.world.released) != 1 || !strings.Contains(strings.Join(s.notes, "\n"), "r1 on backend.far.x is gone, and no longer billed") {
				t.Errorf("released %v; %q", s.world.released, s.notes)
			}
		})
	}
}

// A hasty clock goes a thousand times as fast as it should.
type hasty struct{ from time.Time }

func (h *hasty) Now() time.Time   { return h.from.Add(1000 * time.Since(h.from)) }
func (h *hasty) Go(f func())      { go f() }
func (h *hasty) Park(func() bool) {}
func (h *hasty) Timer(d time.Duration) (<-chan time.Time, func()) {
	return clock.Wall.Timer(d / 1000)
}

// TestPlanToReleaseIsLookedAtAgain: what a plan found safe to give back may have
// the only copy of a result by the time it is applied.
func TestPlanToReleaseIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, rentedPhase)
	s.rents("r1", "idle")
	s.opts = planner.Options{Destroy: true}
	f := &fake{world: s.world}
	c := s.load()
	old := s.plan(c, s.state(), f)
	if !slices.ContainsFunc(old.Loose, func(r planner.Row) bool { return r.Release }) {
		t.Fatalf("nothing is released: %+v", old.Loose)
	}
	s.opts = planner.Options{}
	s.must(t.Context()) // a result is made there meanwhile
	m := s.disk.open(nil)
	if _, err := Run(t.Context(), s.config(old, c, m, f)); err != nil {
		t.Fatal(err)
	}
	// The plan after the result keeps it by itself; that of before must, too.
	if len(s.world.released) != 0 || s.state().Rentals["r1"].Status != "idle" {
		t.Errorf("released %v: %+v", s.world.released, s.state().Rentals["r1"])
	}
}
