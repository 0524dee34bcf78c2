package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const tenJobs = `
BUDGET
phase "z" {
  job {
    command = "z"
    resources {
      cpus     = 1
      walltime = "1h"
    }
  }
}
phase "a" {
  grid { axes = { n = [1, 2, 3, 4, 5, 6, 7, 8, 9] } }
  job {
    command = "train ${cell.n}"
    resources {
      cpus     = 1
      walltime = "1h"
    }
  }
}`

// handTen submits ten jobs of an hour at $1, of which two run.
func handTen(t *testing.T, budget string, price offer.Price) *stage {
	t.Helper()
	s := newStage(t, strings.Replace(tenJobs, "BUDGET", budget, 1))
	s.world.price, s.world.slots = price, 2
	s.world.result = func(providers.Job, int) jobResult { return jobResult{hang: true, lasted: time.Hour} }
	s.conf = detached
	s.must(t.Context())
	s.world.until(func() bool { return len(s.world.runs) == 2 })
	return s
}

// held are the queued jobs that the world holds, and started those that ran.
func (w *world) count() (held, started int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		if j.held && j.status == offer.Queued {
			held++
		}
	}
	return held, len(w.runs)
}

// free lets the jobs end that run and that will run.
func (w *world) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = func(providers.Job, int) jobResult { return jobResult{lasted: time.Hour} }
	for _, j := range w.jobs {
		j.res.hang = false
	}
}

// TestALoweredLimitHoldsWhatIsQueued: when a limit is lowered, or a price rises,
// jobs in a queue are held there, the last first and only as many as needed; what
// runs goes on. They go on when they fit again.
func TestALoweredLimitHoldsWhatIsQueued(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, is string
		price   offer.Price // later
		held    int
	}{
		"lowered":                     {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 6 } }`, offer.Price{USDPerHour: "1"}, 4},
		"to what runs":                {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 2 } }`, offer.Price{USDPerHour: "1"}, 8},
		"below what runs":             {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 1 } }`, offer.Price{USDPerHour: "1"}, 8},
		"to nothing":                  {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 0 } }`, offer.Price{USDPerHour: "1"}, 8},
		"not as far":                  {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 10 } }`, offer.Price{USDPerHour: "1"}, 0},
		"new":                         {``, `budget "b" { limits = { usd = 5 } }`, offer.Price{USDPerHour: "1"}, 5},
		"in cores":                    {``, `budget "b" { limits = { cpu_hours = 4 } }`, offer.Price{USDPerHour: "1"}, 6},
		"of another phase":            {``, "budget \"b\" {\n  limits = { usd = 0 }\n  applies_to = [phase.z]\n}", offer.Price{USDPerHour: "1"}, 1},
		"of one phase":                {``, "budget \"b\" {\n  limits = { usd = 3 }\n  applies_to = [phase.a]\n}", offer.Price{USDPerHour: "1"}, 6},
		"several":                     {``, "budget \"b\" {\n  limits = { usd = 7 }\n  applies_to = [phase.a]\n}\nbudget \"c\" { limits = { cpu_hours = 9 } }", offer.Price{USDPerHour: "1"}, 2},
		"dearer":                      {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 20 } }`, offer.Price{USDPerHour: "4"}, -1},
		"dearer, and above the limit": {`budget "b" { limits = { usd = 20 } }`, `budget "b" { limits = { usd = 20 } }`, offer.Price{USDPerHour: "40"}, 8},
		"past its deadline":           {``, "budget \"b\" {\n  limits = { usd = 20 }\n  deadline = \"2020-01-01T00:00:00Z\"\n}", offer.Price{USDPerHour: "1"}, 8},
	} {
		for mode, conf := range map[string]func(*Config){"once": once, "detached": detached} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				c := c
				if c.held < 0 { // the two that run stay at $1, and -once goes on under $10 that were approved
					c.held = map[string]int{"once": 6, "detached": 4}[mode]
				}
				s := handTen(t, c.was, offer.Price{USDPerHour: "1"})
				s.write(strings.Replace(tenJobs, "BUDGET", c.is, 1))
				s.world.mu.Lock()
				s.world.price = c.price
				s.world.mu.Unlock()
				s.conf = conf
				o := s.must(t.Context())
				if held, started := s.world.count(); held != c.held || started != 2 {
					t.Errorf("%d held, %d started", held, started)
				}
				if (o.Stopped == progress.Budget) != (c.held > 0) || o.Running != 2 || o.Left != c.held {
					t.Errorf("outcome %+v", o)
				}
				short := 0
				for key, j := range s.state().Jobs {
					if j.Short != "" {
						short++
						if !strings.Contains(j.Short, `budget "b"`) && !strings.Contains(j.Short, `budget "c"`) && !strings.Contains(j.Short, "ceiling") || j.Status != state.Queued {
							t.Errorf("%s is %s: %s", key, j.Status, j.Short)
						}
					}
				}
				if short != c.held {
					t.Errorf("%d are held in the state", short)
				}
				s.write(strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 1000 } }`, 1))
				s.world.free()
				s.conf = nil
				s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
				for key, j := range s.state().Jobs {
					if j.Short != "" {
						t.Errorf("%s is held still: %s", key, j.Short)
					}
				}
			})
		}
	}
}

// TestAJobThatStartsBeforeItsHoldArrives goes on, counts, and is not held: the
// others make room for it.
func TestAJobThatStartsBeforeItsHoldArrives(t *testing.T) {
	t.Parallel()
	s := handTen(t, "", offer.Price{USDPerHour: "1"})
	s.write(strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 4 } }`, 1))
	s.conf = func(c *Config) {
		c.Mode = Once
		c.Provider = func(string) (providers.Provider, error) {
			return &quickStart{fake: &fake{world: s.world}, slots: 5}, nil
		}
	}
	o := s.must(t.Context())
	if held, started := s.world.count(); held != 5 || started != 5 || o.Stopped != progress.Budget || o.Running != 5 || o.Left != 5 {
		t.Errorf("%d held, %d started, %+v", held, started, o)
	}
	for key, j := range s.state().Jobs {
		if j.Status == state.Running && j.Short != "" {
			t.Errorf("%s runs, and is held: %s", key, j.Short)
		}
	}
	for _, j := range s.world.jobs {
		if j.held && j.status == offer.Running {
			t.Errorf("%s runs, and would not be launched again", j.Address)
		}
	}
}

// quickStart starts jobs when the first hold is on its way.
type quickStart struct {
	*fake
	slots int
}

func (q *quickStart) Control(ctx context.Context, r providers.ControlRequest) error {
	if r.Hold != nil && *r.Hold && len(r.Tokens) > 0 {
		q.mu.Lock()
		for _, t := range r.Tokens {
			q.jobs[t].held = true
		}
		for _, t := range r.Tokens { // the last of them, which were to be held
			running := 0
			for _, j := range q.jobs {
				if j.status == offer.Running {
					running++
				}
			}
			if j := q.jobs[t]; running < q.slots && j.status == offer.Queued {
				q.begin(j)
			}
		}
		q.slots = 0
		q.mu.Unlock()
	}
	return q.fake.Control(ctx, r)
}

// TestABackendThatHoldsNothing goes on with what it was given, and that is said.
func TestABackendThatHoldsNothing(t *testing.T) {
	t.Parallel()
	s := handTen(t, "", offer.Price{USDPerHour: "1"})
	s.write(strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 4 } }`, 1))
	s.conf = func(c *Config) {
		c.Mode = Once
		c.Provider = func(string) (providers.Provider, error) { return noHolds{&fake{world: s.world}}, nil }
	}
	o := s.must(t.Context())
	if held, _ := s.world.count(); held != 0 || o.Stopped == progress.Budget || o.Queued != 8 || !strings.Contains(strings.Join(s.notes, "\n"), "does not hold 6 jobs") {
		t.Errorf("%d held: %+v\n%s", held, o, strings.Join(s.notes, "\n"))
	}
	s.world.can.Holds = false
	s.conf = nil
	if notes := strings.Join(s.plan(s.load(), s.state(), &fake{world: s.world}).Notes, "\n"); !strings.Contains(notes, "cannot hold queued jobs: jobs submitted there may still cost up to $10") {
		t.Errorf("the plan says\n%s", notes)
	}
}

// TestHoldForABudgetThatIsNotTaken: a pass says so, and the next pass holds the jobs.
func TestHoldForABudgetThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s := handTen(t, "", offer.Price{USDPerHour: "1"})
	s.write(strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 4 } }`, 1))
	pass := func(away int) progress.Outcome {
		s.notes = nil
		s.conf = func(c *Config) {
			c.Mode = Once
			c.Provider = func(string) (providers.Provider, error) {
				return &outOfReach{fake: &fake{world: s.world}, away: away}, nil
			}
		}
		return s.must(t.Context())
	}
	for _, c := range []struct{ away, held, said int }{{1 << 20, 0, 1}, {0, 6, 0}} {
		o := pass(c.away)
		held, _ := s.world.count()
		if said := s.notesWith("did not take the hold: it is away. muster tries again"); held != c.held || len(said) != c.said || o.Stopped != progress.Budget {
			t.Errorf("%d held: %+v\n%s", held, o, strings.Join(s.notes, "\n"))
		}
	}
}

type noHolds struct{ *fake }

func (n noHolds) Control(ctx context.Context, r providers.ControlRequest) error {
	if len(r.Tokens) > 0 {
		return providers.Errorf(providers.Invalid, "it holds nothing")
	}
	return n.fake.Control(ctx, r)
}

// TestBillsThatRiseHoldWhatIsQueued: two bills above the quote in a row count for
// what is queued, in this run and in the next plan.
func TestBillsThatRiseHoldWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 14 } }`, 1))
	s.world.price, s.world.slots = offer.Price{USDPerHour: "1"}, 1
	s.world.can.FeedSlots = 0
	s.world.result = func(providers.Job, int) jobResult {
		return jobResult{lasted: time.Hour, billed: "3 usd", takes: 200 * time.Millisecond} // a hold overtakes the next start on a busy machine, too
	}
	o := s.must(t.Context())
	spent, _ := s.state().Spent(nil)
	if total := amount.Of(spent["usd"]); o.Stopped != progress.Budget || total.GreaterThan(decimal.NewFromInt(12)) {
		t.Errorf("$%s spent of $14: %+v", total, o)
	}
	if held, _ := s.world.count(); held == 0 {
		t.Error("nothing is held")
	}
	s.write(strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 100 } }`, 1))
	s.check(s.must(t.Context()), "end done=10 failed=0 held=0 blocked=0 left=0")
	if most := s.state().Approvals[1].Ceiling["usd"]; amount.Of(most).LessThan(decimal.NewFromInt(18)) {
		t.Errorf("$%s approved for six jobs and more at $3", most)
	}
}

// TestWhatRunsCountsAtWhatItsPoolBills: bills rose in an earlier apply; what runs since then
// counts at the price that it will be billed, in every later apply, too.
func TestWhatRunsCountsAtWhatItsPoolBills(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(tenJobs, "BUDGET", `budget "b" { limits = { usd = 14 } }`, 1))
	w := s.world
	w.price, w.slots = offer.Price{USDPerHour: "1"}, 2
	w.can.FeedSlots = 0
	begun := 0
	w.result = func(providers.Job, int) jobResult {
		begun++
		return jobResult{lasted: time.Hour, billed: "3 usd", takes: time.Millisecond, hang: begun > 2}
	}
	s.conf = detached
	s.must(t.Context())
	w.until(func() bool { w.step(); return begun >= 4 })
	started := func() int { _, n := w.count(); return n }
	before := started()
	for _, mode := range []func(*Config){once, detached, detached, once} {
		s.conf = mode
		o := s.must(t.Context()) // $6 spent, and $3 for each that runs
		if held, n := w.count(); o.Stopped != progress.Budget || held == 0 {
			t.Errorf("%d held, %d started: %+v", held, n, o)
		}
		w.mu.Lock()
		w.slots = 10
		w.step()
		w.mu.Unlock()
		if n := started(); n > before {
			t.Fatalf("%d of ten were started at $3, of $14", n)
		}
	}
}

// TestWhatMayStartFits: budgets are edited, prices move, bills are above their
// quotes, and applies are killed. After every apply that came to its end, ledger
// plus the ceilings of all that may start or runs keep every limit, or nothing may
// start; and nothing starts later that was held.
func TestWhatMayStartFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := rapid.SampledFrom([]string{"0", "1", "2.5", "4", "7", "30"})
		hcl := func(limit string) string {
			return strings.Replace(tenJobs, "BUDGET", fmt.Sprintf("budget \"b\" { limits = { usd = %s } }", limit), 1)
		}
		s := newStage(t, hcl("30"))
		w := s.world
		w.slots, w.can.FeedSlots = rapid.IntRange(1, 4).Draw(rt, "slots"), rapid.IntRange(0, 2).Draw(rt, "feed")
		w.price = offer.Price{USDPerHour: "1"}
		over := rapid.Bool().Draw(rt, "bills above quotes")
		hang := true
		w.result = func(j providers.Job, _ int) jobResult {
			r := jobResult{lasted: time.Hour, hang: hang}
			if over {
				r.billed = "2 usd"
			}
			return r
		}
		for i := range rapid.IntRange(1, 6).Draw(rt, "steps") {
			limit := "30"
			if i > 0 {
				limit = limits.Draw(rt, "limit")
			}
			s.write(hcl(limit))
			w.mu.Lock()
			w.price.USDPerHour = rapid.SampledFrom([]string{"1", "1", "3", "0.5"}).Draw(rt, "price")
			for _, j := range w.jobs { // some of what runs ends
				if j.status == offer.Running && rapid.Bool().Draw(rt, "ends") {
					j.res.hang = false
				}
			}
			w.step()
			w.mu.Unlock()
			mode := rapid.SampledFrom([]func(*Config){once, detached}).Draw(rt, "mode")
			clk := clock.Wall
			s.conf = func(c *Config) { mode(c); c.Time = clk }
			if rapid.IntRange(0, 3).Draw(rt, "killed") == 0 {
				ctx, die := context.WithCancel(t.Context())
				s.conf = func(c *Config) { mode(c); c.Session.(*memory).alive = nil }
				s.applyMortal(ctx, &mortal{left: rapid.IntRange(1, 40).Draw(rt, "operations"), die: die})
				die()
				continue
			}
			o, err := s.apply(t.Context(), nil)
			if err != nil {
				rt.Fatal(err)
			}
			st := s.state()
			total := decimal.Zero
			for _, e := range st.Ledger {
				total = total.Add(amount.Of(e.Spent.Get("usd")))
			}
			mayStart, risen := 0, place.Rises(st)
			for _, j := range st.InFlight() {
				if j.Short != "" {
					continue
				}
				a := j.Last()
				by := decimal.NewFromInt(1)
				if d, ok := (place.Decision{}).Charged(a); ok && risen[place.PoolAt{Backend: a.Backend, Pool: a.Pool}].Factor.IsPositive() {
					by = risen[place.PoolAt{Backend: a.Backend, Pool: a.Pool}].Over(d.Price).Div(place.RisenBy(d.Price))
				}
				total = total.Add(amount.Of(a.Ceiling["usd"]).Mul(by))
				if j.Status == state.Queued || j.Status == state.Submitting {
					mayStart++
				}
			}
			if mayStart > 0 && total.GreaterThan(amount.Of(limit)) {
				rt.Fatalf("$%s spent, in flight or to start of $%s, and %d may start: %+v\n%s", total, limit, mayStart, o, s.story())
			}
			w.mu.Lock()
			for _, j := range st.InFlight() {
				if f := w.jobs[j.Last().Token]; j.Short != "" && f != nil && f.status == offer.Queued && !f.held {
					rt.Errorf("%s may start, and %s", j.Address, j.Short)
				}
			}
			w.mu.Unlock()
		}
		hang, over = false, false
		w.free()
		s.write(hcl("1000"))
		w.mu.Lock()
		w.price.USDPerHour = "1"
		w.mu.Unlock()
		s.conf = nil
		o, err := s.apply(t.Context(), nil)
		for n := 0; err == nil && n < 3 && o.Done < 10; n++ {
			o, err = s.apply(t.Context(), nil)
		}
		if err != nil || o.Done != 10 {
			rt.Fatalf("%v %+v\n%s", err, o, s.story())
		}
	})
}
