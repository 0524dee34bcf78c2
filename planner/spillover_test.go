package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

const hour = time.Hour

func TestQueueEnd(t *testing.T) {
	q := placeQueue{Slots: 5, Each: 2 * hour, Wait: hour}
	for jobs, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 3 * hour, 5: 3 * hour, 6: 5 * hour, 10: 5 * hour, 11: 7 * hour} {
		if got := q.End(jobs); got != want {
			t.Errorf("%d jobs: %s, not %s", jobs, got, want)
		}
	}
}

// cloud is a place of one price an hour, for jobs of 4 hours at most.
func cloudPlace(usd string) place.Decision {
	return place.Decision{Backend: "vastai.x", Pool: "4090", Shape: offer.Shape{CPUs: 1, GPUs: 1, Nodes: 1, Walltime: 4 * hour}, Price: offer.Price{Known: usd != "", USDPerHour: usd}}
}

// TestDecide: the smallest number that ends the jobs soonest, within what is
// afforded and what the cap leaves.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*overflowCase)
		n    int
		says string
	}{
		"as many as end it soonest":    {nil, 55, "55 of 60 jobs overflow to vastai.x 4090, for at most $77: about 2h."},
		"the smallest such number":     {func(c *overflowCase) { c.There.Each = 12 * hour }, 30, "about 12h"},
		"as many as are afforded":      {affordAll(10, "the purse is empty"), 10, "about 20h; the purse is empty."},
		"fewer than that end no later": {affordAll(9, "the purse is empty"), 5, "about 22h."},
		"none is afforded":             {affordAll(0, "the purse is empty"), 0, "phase.a does not overflow: the purse is empty."},
		"it would end no sooner":       {func(c *overflowCase) { c.There.Wait = 100 * hour }, 0, "it would end no sooner"},
		"what flies there waits, too":  {func(c *overflowCase) { c.Jobs, c.Free, c.InFlight = 5, 5, 5 }, 5, "5 of 5 jobs"},
		"all are tried before":         {func(c *overflowCase) { c.Free = 0 }, 0, "every job of it is tried on slurm.alpine aa100 before"},
		"the cap is reached":           {func(c *overflowCase) { c.MaxParallel = 5 }, 0, "max_parallel = 5 is reached without it"},
		"the cap leaves two":           {func(c *overflowCase) { c.MaxParallel = 7 }, 15, "about 18h"},
		"a smoke is tried first":       {func(c *overflowCase) { c.Smoke = true }, 55, "none of them starts before its smoke has passed on slurm.alpine, and none is tried on vastai.x 4090"},
		"both ways are priced":         {nil, 55, "Cheapest: all on slurm.alpine aa100, at most $0, about 24h. Fastest: all on vastai.x 4090, at most $84, about 2h."},
		"both together are the fastest": {func(c *overflowCase) { c.There.Slots = 3 }, 20,
			"about 16h. Cheapest: all on slurm.alpine aa100, at most $0, about 24h. Fastest: 20 on vastai.x 4090 and 40 on slurm.alpine aa100, at most $28, about 16h."},
		"faster than the budget leaves": {func(c *overflowCase) { affordAll(10, "the purse is empty")(c); c.There.Slots = 3 }, 10, "about 20h; the purse is empty. Cheapest: all on slurm.alpine aa100, at most $0, about 24h. Fastest: 20 on vastai.x 4090"},
		"the second is the cheaper":     {func(c *overflowCase) { c.First.Price.USDPerHour = "1" }, 55, "Cheapest: all on vastai.x 4090, at most $84, about 2h."},
		"the cap holds for all there":   {func(c *overflowCase) { c.MaxParallel, c.There.Slots = 7, 7 }, 15, "Fastest: all on vastai.x 4090, at most $84, about 18h."},
		"a price nobody knows":          {func(c *overflowCase) { c.Second = cloudPlace("") }, 55, "at most a price that is not known"},
	} {
		first := cloudPlace("0")
		first.Backend, first.Pool = "slurm.alpine", "aa100"
		in := overflowCase{Phase: "a", First: first, Second: cloudPlace("0.35"), Jobs: 60, Free: 60, At: placeQueue{Slots: 5, Each: 2 * hour}, There: placeQueue{Slots: 60, Each: 2 * hour},
			Afford: func(n int) (int, string) { return n, "" }}
		if c.edit != nil {
			c.edit(&in)
		}
		s := in.Decide()
		says := s.Note()
		if s.N != c.n || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d, not %d: %s", name, s.N, c.n, says)
		}
	}
	if got := noOverflow("a", "no GPU.").Note(); got != "phase.a does not overflow: no GPU." {
		t.Error(got)
	}
}

func affordAll(most int, bound string) func(*overflowCase) {
	return func(c *overflowCase) { c.Afford = func(int) (int, string) { return most, bound } }
}

// TestAfford: a launch of 4 hours at $0.35 may cost $1.40; where a budget is
// strict every launch that a retry allows counts.
func TestAfford(t *testing.T) {
	phase := &lang.Phase{Name: "a", Retry: lang.Retry{Policy: retry.Policy{Max: 2, On: []string{"oom"}}}}
	usd := func(limit string) lang.Budget { return lang.Budget{Name: "b", Limits: map[string]string{"usd": limit}} }
	strict, other := usd("14"), usd("1")
	strict.Strict, other.AppliesTo = true, []string{"phase.other"}
	for name, c := range map[string]struct {
		budget  lang.Budget
		claimed string
		price   string
		n       int
		bound   string
	}{
		"as many as it covers":  {usd("14"), "0", "0.35", 10, `budget "b" ($14) covers no more at $1.40 each`},
		"not half a one":        {usd("13.99"), "0", "0.35", 9, "covers no more"},
		"what is claimed":       {usd("14"), "7", "0.35", 5, "covers no more"},
		"more is claimed":       {usd("14"), "20", "0.35", 0, "covers no more"},
		"every launch":          {strict, "0", "0.35", 5, "$2.80 each"},
		"enough for all":        {usd("1000"), "0", "0.35", 20, ""},
		"another phase's":       {other, "0", "0.35", 20, ""},
		"a price nobody knows":  {usd("14"), "0", "", 0, "its cost is not known"},
		"nothing is charged":    {usd("0"), "0", "0", 20, ""},
		"hours are not charged": {lang.Budget{Name: "b", Limits: map[string]string{"gpu_hours": "1"}}, "0", "0.35", 20, ""},
	} {
		n, bound := affordable([]lang.Budget{c.budget}, phase, cloudPlace(c.price), nil, 20, func(lang.Budget, string) decimal.Decimal { return amount.Of(c.claimed) })
		if n != c.n || !strings.Contains(bound, c.bound) || c.bound == "" && bound != "" {
			t.Errorf("%s: %d, not %d: %q", name, n, c.n, bound)
		}
	}
}
