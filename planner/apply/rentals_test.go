package apply

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestOrphanIsInTheNextPlan: a machine that nobody remembers renting is in a plan
// with its price, also where no job goes; a machine that the state knows is none, and
// one that is gone is in no plan.
func TestOrphanIsInTheNextPlan(t *testing.T) {
	// Requirement: TDN-13
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

// TestLedgerIsTheCloudsBill: jobs are charged while they run, and the machine is charged
// the rest, so that both add up to what the cloud asks: boot and idle time count, jobs
// that share a machine pay it once, and what the cloud says later replaces what was
// counted before.
func TestLedgerIsTheCloudsBill(t *testing.T) {
	// Requirement: CST-08
	t.Parallel()
	began := time.Now().Add(-2 * time.Hour).UTC()
	s := newStage(t, rentedPhase)
	s.world.can.Rents = true
	s.world.rentals = [][]offer.Rental{{{ID: "r1", Rate: "0.36", Status: offer.RentalReleased, Since: began, Began: began, Ended: began.Add(100 * time.Minute)}}}
	usd := func(want string) {
		t.Helper()
		spent, unknown := s.state().Spent(func(e state.Entry) bool { return e.Backend == "far.x" })
		if got := amount.Of(spent["usd"]); !got.Round(9).Equal(amount.Of(want)) || unknown != 0 {
			t.Errorf("the ledger has %v, want %s: %+v", got, want, s.state().Ledger)
		}
	}
	s.must(t.Context()) // the job is charged at $1/h, the machine is gone
	s.refreshed()
	usd("0.6")
	s.world.rentals[0][0].Billed = "0.61"
	s.refreshed()
	s.refreshed()
	usd("0.61")
	s.world.rentals[0] = append(s.world.rentals[0], offer.Rental{ID: "r2", Rate: "0.36", Status: offer.RentalReleased, Since: began, Began: began, Ended: began, Billed: "0.02"})
	s.rents("token", "running") // before the cloud gave it an id: r2
	s.refreshed()
	usd("0.63")
	if r := s.state().Rentals["token"]; r.Rented() {
		t.Errorf("what the cloud does not list is %+v", r)
	}
	n := 0
	for _, e := range s.state().Ledger {
		if e.Attempt == 0 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d entries of machines", n)
	}
}

// TestJobsOfAMachineShareItsHold: jobs that one machine runs one after another are not each
// counted with its boot and its hold until the run ends: a budget that covers the machine and
// the next job stops none of them.
func TestJobsOfAMachineShareItsHold(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]bool{"alone": false, "beside one that runs on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := "1.5" // a job is at most $1.17, of which the hold is $0.17
			s := newStage(t, "")
			s.world.can.Rents, s.world.slots, s.world.price = true, 1, offer.Price{USDPerHour: "1"}
			if beside {
				budget, s.world.slots = "2.7", 2
				s.world.result = func(j providers.Job, _ int) jobResult {
					return jobResult{hang: strings.Contains(j.Address, "=1]")}
				}
			}
			phase := strings.Replace(rentedPhase, "place {", "grid { axes = { n = range(1, 7) } }\n  place {", 1)
			phase = strings.Replace(phase, `"a.txt"`, `"a${cell.n}.txt"`, 1)
			s.write(phase + "\nbudget \"b\" { limits = { usd = " + budget + " } }\n")
			now := time.Now()
			s.disk.events = append(s.disk.events, state.Rented{Rental: state.Rental{ID: "r1", Backend: "far.x", Status: "running", PerHour: "1", Since: now, Began: now}})
			s.world.rentals = [][]offer.Rental{{{ID: "r1", Rate: "1", Status: offer.RentalRunning, Since: now, Began: now}}}
			s.conf = func(c *Config) {
				c.Event = func(ev state.Event) {
					if o, ok := ev.(state.Observed); ok && beside && o.Status == state.Completed {
						s.world.mu.Lock()
						defer s.world.mu.Unlock()
						over := 0
						for _, j := range s.world.jobs {
							if j.status == offer.Completed {
								over++
							}
						}
						for _, j := range s.world.jobs {
							j.res.hang = j.res.hang && over < 5
						}
					}
				}
			}
			if o := s.must(t.Context()); o.Done != 6 || o.Stopped != "" {
				t.Errorf("outcome %+v\n%+v", o, s.state().Ledger)
			}
		})
	}
}

// TestEndSaysWhatIsBilled: a run does not end without naming the machines that are
// billed on.
func TestEndSaysWhatIsBilled(t *testing.T) {
	t.Parallel()
	s := newStage(t, rentedPhase)
	s.world.can.Rents = true
	s.rents("r1", "running")
	s.rents("r2", "released")
	o := s.must(t.Context())
	if len(o.Rentals) != 1 || o.Rentals[0].ID != "r1" || o.Rentals[0].PerHour != "0.60" {
		t.Errorf("rentals %+v", o.Rentals)
	}
}

// TestRunningJobsAreCountedOnce: of the machines' cost, jobs in flight have used up what they ran
// so far, by no clock but the one here more than the time since their launch, and no more than
// their ceiling. Half an hour at $1/h is half a dollar.
func TestRunningJobsAreCountedOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		status          cells.Status
		intent, started time.Time
		walltime        time.Duration
		want            string
	}{
		"runs":                  {cells.Running, ago(40 * time.Minute), ago(30 * time.Minute), time.Hour, "0.5"},
		"its clock is behind":   {cells.Running, ago(30 * time.Minute), ago(90 * time.Minute), time.Hour, "0.5"},
		"its clock is ahead":    {cells.Running, ago(30 * time.Minute), ago(-90 * time.Minute), time.Hour, "0"},
		"longer than it may":    {cells.Running, ago(3 * time.Hour), ago(2 * time.Hour), 30 * time.Minute, "0.5"},
		"nothing bounds it":     {cells.Running, ago(3 * time.Hour), ago(2 * time.Hour), 0, "0"},
		"waits for its machine": {cells.Queued, ago(40 * time.Minute), time.Time{}, time.Hour, "0"},
	} {
		st := &state.State{Jobs: map[string]*state.Job{"a": {Attempts: []state.Attempt{{N: 1, Intent: c.intent, Started: c.started}}}}}
		b := &backends.Backend{Contact: &backends.Contact{}}
		b.Name = "far.x"
		f := &attempt{Attempt: backends.Attempt{Key: "a", B: b, Status: c.status}, asked: &offer.Shape{Walltime: c.walltime}}
		f.tab.Tariff = &ledger.Tariff{Price: offer.Price{Known: true, USDPerHour: "1", Granularity: time.Hour, Minimum: time.Hour}}
		ac := &accounts{jobs: &jobs{run: &run{Config: Config{Time: still{clock.Wall, now}}, st: st}, attempts: map[string]*attempt{"t": f}}}
		if got := ac.running("far.x"); !got.Equal(amount.Of(c.want)) {
			t.Errorf("%s: $%s, want $%s", name, got, c.want)
		}
		if got := ac.running("far.y"); !got.IsZero() {
			t.Errorf("%s: $%s on another backend", name, got)
		}
	}
}

// still is a time that does not pass.
type still struct {
	clock.Clock
	at time.Time
}

func (s still) Now() time.Time { return s.at }
