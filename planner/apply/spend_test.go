package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// TestNothingPassesBudgetOrCeiling tries to make an apply pass its budget or
// the ceiling that was approved: launches fail and are tried again, larger;
// prices rise between applies and bills come out higher than quoted; the
// process is killed at any step, between the submission and the ledger, too; a
// second one takes over from one that still thinks it holds the lease; clocks
// jump to and fro, here and on the hosts.
//
// Two things are held against the engine. The journal, folded by itself: when an intent is
// written, the ledger, what is in flight at its ceiling and the intent together keep every
// limit. And the world: the ledger has everything that it charged, and where no bill was
// higher than its quote it kept the budget.
func TestNothingPassesBudgetOrCeiling(t *testing.T) {
	// Requirement: E13
	rapid.Check(t, func(rt *rapid.T) {
		w := wager{
			limit: rapid.SampledFrom([]string{"2", "3.5", "5", "7", "9", "20"}).Draw(rt, "budget"), jobs: rapid.IntRange(1, 6).Draw(rt, "jobs"),
			scale: rapid.Bool().Draw(rt, "scale"), rides: rapid.Bool().Draw(rt, "rides"), over: rapid.Bool().Draw(rt, "bills higher than quoted"),
		}
		s := newStage(t, w.campaign())
		w.house(rt, s.world)
		for range rapid.IntRange(1, 8).Draw(rt, "applies") {
			w.ask(s.world, rapid.SampledFrom([]int64{0, 0, 1, 1, -1}).Draw(rt, "price moves"))
			s.conf = nil
			clk := &jumpy{Clock: clock.Wall, by: rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, time.Hour, -time.Hour, 40 * 24 * time.Hour, -24 * time.Hour}), 1, 4).Draw(rt, "clock"), every: rapid.IntRange(1, 60).Draw(rt, "jumps")}
			steps, tear := rapid.IntRange(1, 60).Draw(rt, "steps"), rapid.IntRange(0, 8).Draw(rt, "tear")
			ctx, die := context.WithCancel(t.Context())
			m := &mortal{left: steps, die: die}
			s.conf = func(c *Config) {
				mem := c.Session.(*memory)
				mem.alive, mem.tear, c.Time = m.step, tear, clk
			}
			var first sync.WaitGroup
			if rapid.IntRange(0, 3).Draw(rt, "a second one takes over") == 0 {
				over := make(chan struct{})
				first.Go(func() { defer close(over); s.applyMortal(ctx, m) })
				m.wait(steps/2, over)
				s.conf = func(c *Config) { c.Time = clk }
				patient, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
				s.applyMortal(patient, &mortal{left: 1 << 30, die: func() {}})
				leave()
			} else {
				s.applyMortal(ctx, m)
			}
			die()
			first.Wait()
		}
		s.conf = nil
		o, err := s.apply(t.Context(), nil)
		if err != nil {
			rt.Fatalf("the last apply: %v", err)
		}
		for launch, n := range s.world.starts {
			if n != 1 {
				rt.Errorf("launch %s started %d times", launch, n)
			}
		}
		w.audit(rt, s)
		w.settle(rt, s, o)
	})
}

// wait waits until a process has come so far, or is over.
func (m *mortal) wait(left int, over <-chan struct{}) {
	for {
		m.mu.Lock()
		there := m.dead || m.left <= left
		m.mu.Unlock()
		select {
		case <-over:
			return
		case <-time.After(time.Millisecond):
			if there {
				return
			}
		}
	}
}

// A jumpy clock is set to another time now and then.
type jumpy struct {
	clock.Clock
	mu    sync.Mutex
	by    []time.Duration
	every int // readings
	n     int
}

func (j *jumpy) Now() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	return time.Now().Add(j.by[j.n/j.every%len(j.by)])
}

// A wager is a campaign of paid jobs, and what its world charged for them.
type wager struct {
	limit              string
	jobs               int
	scale, rides, over bool

	mu      sync.Mutex
	price   asking
	quoted  map[string]asking          // the price at which a job was taken, by token
	charged map[string]decimal.Decimal // by launch
}

const wagerLaunches = 3

func (w *wager) campaign() string {
	scale := ""
	if w.scale {
		scale = "    scale \"oom_host\" { walltime = 2 }\n"
	}
	var ns []string
	for n := range w.jobs {
		ns = append(ns, fmt.Sprint(n))
	}
	return fmt.Sprintf(`
budget "b" { limits = { usd = %s } }
phase "a" {
  grid { axes = { n = [%s] } }
  job {
    command = "echo ${cell.n} > ${output.o}"
    resources { walltime = "1h" }
    output "o" { path = "a${cell.n}.txt" }
  }
  retry {
    on           = ["oom", "node_failure"]
    max_attempts = %d
    delay        = "1ms"
%s  }
}`, w.limit, strings.Join(ns, ", "), wagerLaunches, scale)
}

// house is a world that fails, charges and sets its clocks as it is told.
func (w *wager) house(rt *rapid.T, world *world) {
	w.charged, w.quoted = map[string]decimal.Decimal{}, map[string]asking{}
	w.price = asking{hourly: 1, boot: rapid.SampledFrom([]time.Duration{0, 0, 15 * time.Minute}).Draw(rt, "boot"), steps: rapid.SampledFrom([]time.Duration{0, 0, 25 * time.Minute}).Draw(rt, "granularity")}
	w.ask(world, 0)
	world.slots = rapid.IntRange(1, 6).Draw(rt, "slots")
	world.can.HostQueue, world.can.Retries = w.rides, w.rides
	world.reject = func(j providers.Job) *providers.Error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.quoted[j.Token] = w.price
		return nil
	}
	// Drawn before anything runs: what runs draws nothing.
	fates := rapid.SliceOfN(rapid.Uint32(), 8, 8).Draw(rt, "fates")
	world.result = func(j providers.Job, launch int) jobResult {
		w.mu.Lock()
		defer w.mu.Unlock()
		fate := fates[(len(j.Address)+int(j.Address[len(j.Address)-3])+launch*3)%len(fates)]
		key := j.Token + "/" + fmt.Sprint(launch)
		r := jobResult{lasted: j.Shape.Walltime * time.Duration(1+fate%4) / 4}
		if fate>>4%3 == 0 && launch < wagerLaunches {
			r.exit, r.class = 1, []string{"oom_host", "node_failure"}[fate>>8%2]
		}
		cost := w.quoted[j.Token].of(r.lasted)
		switch {
		case fate>>12%4 == 0: // nobody measured it, and a clock was set
			r.set = []time.Duration{-2 * time.Hour, 300 * 24 * time.Hour}[fate>>16%2]
		case w.over && fate>>12%4 == 1:
			cost = cost.Mul(decimal.NewFromInt(2))
			r.billed = cost.String() + " usd"
		case fate>>12%4 == 2:
			r.billed = cost.String() + " usd"
		}
		w.charged[key] = cost
		return r
	}
}

// An asking is the price of a place.
type asking struct {
	hourly int64         // $
	boot   time.Duration // billed before each launch
	steps  time.Duration // what is billed is a multiple of them; 0 = to the instant
}

// of is the cost of a launch that runs for so long.
func (a asking) of(run time.Duration) decimal.Decimal {
	all := run + a.boot
	if a.steps > 0 {
		all = (all + a.steps - 1) / a.steps * a.steps
	}
	return decimal.NewFromInt(a.hourly).Mul(decimal.NewFromInt(int64(all))).DivRound(decimal.NewFromInt(int64(time.Hour)), 15) // as many places as the ledger has
}

// ask moves the price of what is started from now on, and tells of it.
func (w *wager) ask(world *world, by int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	world.mu.Lock()
	defer world.mu.Unlock()
	w.price.hourly = max(w.price.hourly+by, 1)
	world.price.USDPerHour, world.price.Granularity, world.boot = fmt.Sprint(w.price.hourly), w.price.steps, w.price.boot
}

// audit folds the journal again and checks the limits at every intent.
func (w *wager) audit(rt *rapid.T, s *stage) {
	st := &state.State{Version: state.SchemaVersion}
	approved := map[string]decimal.Decimal{}
	for i, ev := range s.disk.events {
		st.Apply(ev)
		if a, ok := ev.(state.Approved); ok {
			approved[a.Approval.Plan] = amount.Of(a.Approval.Ceiling["usd"])
		}
		in, ok := ev.(state.Intended)
		if !ok {
			continue
		}
		plan := in.Attempt.Plan
		total, under := decimal.Zero, decimal.Zero
		for _, e := range st.Ledger {
			total = total.Add(amount.Of(e.Spent.Get("usd")))
			if e.Plan == plan {
				under = under.Add(amount.Of(e.Spent.Get("usd")))
			}
		}
		for _, j := range st.InFlight() {
			a := j.Last()
			most := w.inFlight(j, a)
			total = total.Add(most)
			if a.Plan == plan {
				under = under.Add(most)
			}
		}
		if amount.Exceeds(total, amount.Of(w.limit)) {
			rt.Fatalf("event %d, %s: $%s spent or in flight, of $%s\n%s", i, in.Job.Address, total, w.limit, s.story())
		}
		if amount.Exceeds(under, approved[plan]) {
			rt.Fatalf("event %d, %s: $%s spent or in flight under plan %s, of $%s approved\n%s", i, in.Job.Address, under, plan, approved[plan], s.story())
		}
	}
}

// inFlight is the most that a job in flight may still cost: its current launch,
// and those that its queue may make by itself.
func (w *wager) inFlight(j *state.Job, a *state.Attempt) decimal.Decimal {
	first := a.N
	for i := range j.Attempts {
		if j.Attempts[i].Token[:32] == a.Token[:32] {
			first = min(first, j.Attempts[i].N)
		}
	}
	var each decimal.Decimal // of the launch that was minted
	run := time.Hour
	for i := range j.Attempts {
		if minted := &j.Attempts[i]; minted.N == first {
			each = amount.Of(minted.Ceiling["usd"])
			if d, err := time.ParseDuration(minted.Scaled["walltime"]); err == nil {
				run = d
			}
		}
	}
	one := asking{1, w.price.boot, w.price.steps}
	hourly := each.DivRound(one.of(run), 0)
	sum, last := decimal.Zero, a.N
	if w.rides {
		last = max(wagerLaunches, first)
	}
	for n := first; n <= last; n++ {
		if n > a.N || n == a.N && a.Ended.IsZero() {
			sum = sum.Add(each)
		}
		if w.scale && w.rides {
			run *= 2
			each = hourly.Mul(one.of(run))
		}
	}
	return sum
}

// settle holds the ledger against what the world charged, launch by launch. A
// launch of which nothing was heard counts at its ceiling, which a bill above
// its quote may pass.
func (w *wager) settle(rt *rapid.T, s *stage, o progress.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entries := map[string]state.Entry{}
	for _, e := range s.state().Ledger {
		entries[fmt.Sprint(e.Token, "/", e.Attempt)] = e
	}
	total := decimal.Zero
	for _, launch := range slices.Sorted(maps.Keys(w.charged)) {
		cost := w.charged[launch]
		total = total.Add(cost)
		token, n, _ := strings.Cut(launch, "/")
		e, ok := entries[token[:min(8, len(token))]+"/"+n]
		if spent := amount.Of(e.Spent.Get("usd")); !ok || amount.Exceeds(cost, spent) && !(w.over && e.Unknown) {
			rt.Errorf("launch %s was charged $%s, and the ledger has %v: $%s\n%s", launch, cost, ok, spent, s.story())
		}
	}
	if !w.over && amount.Exceeds(total, amount.Of(w.limit)) {
		rt.Errorf("the world charged $%s of a budget of $%s\n%s", total, w.limit, s.story())
	}
	if o.Running+o.Queued > 0 {
		rt.Errorf("outcome %+v", o)
	}
}
