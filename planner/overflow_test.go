package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestOverflow: so many jobs go to the overflow as end the phase sooner and the
// budgets leave, and no more.
func TestOverflow(t *testing.T) {
	t.Parallel()
	cash := func(limit string) func(*lang.Campaign, *Input) {
		return func(c *lang.Campaign, _ *Input) {
			c.Budgets = append(c.Budgets, lang.Budget{Name: "b", Limits: map[string]string{"usd": limit}})
		}
	}
	due := func(d time.Duration) func(*lang.Campaign, *Input) {
		return func(c *lang.Campaign, in *Input) {
			c.Budgets = append(c.Budgets, lang.Budget{Name: "by", Limits: map[string]string{}, Deadline: in.Now.Add(d)})
		}
	}
	var all []int
	for i := range 60 {
		all = append(all, i)
	}
	smoke := func(cells ...int) func(*lang.Campaign, *Input) {
		return func(c *lang.Campaign, _ *Input) { c.Phases[0].Smoke = &lang.Smoke{Cells: cells} }
	}
	both := func(edits ...func(*lang.Campaign, *Input)) func(*lang.Campaign, *Input) {
		return func(c *lang.Campaign, in *Input) {
			for _, e := range edits {
				e(c, in)
			}
		}
	}
	for name, c := range map[string]struct {
		edit  func(*lang.Campaign, *Input)
		spill int
		says  string
	}{
		// 60 jobs of 2 h (walltime 4 h) on 5 slots: 24 h. At $0.35 an hour a
		// launch may cost $1.40.
		"as many as $14 cover":          {cash("14"), 10, `budget "b" ($14) covers no more at $1.40 each`},
		"half a job is not covered":     {cash("13.99"), 5, "about 22h"}, // nine end no sooner than five: 11 rounds of five
		"nothing is covered":            {cash("1"), 0, "covers no more"},
		"no budget: as end it soonest":  {nil, 55, "about 2h"},
		"a deadline that holds without": {both(cash("14"), due(100*time.Hour)), 0, "phase.a does not overflow: every deadline holds without it. With it, 10 of 60 jobs would go to vastai.x 4090, for at most $14, and it would take about 20h; without, all on slurm.alpine aa100, at most $0, about 24h."},
		"a deadline that does not":      {both(cash("14"), due(30*time.Hour)), 10, "10 of 60"},
		"no price under a budget":       {both(cash("14"), func(_ *lang.Campaign, in *Input) { in.Pools[2].Price = offer.Price{} }), 0, "is not known"},
		"money spent before counts":     {both(cash("14"), func(_ *lang.Campaign, in *Input) { in.State = spentState("7") }), 5, "5 of 60"},
		"a cap over both":               {func(c *lang.Campaign, _ *Input) { c.Phases[0].MaxParallel = 5 }, 0, "max_parallel = 5"},
		"a cap that leaves two":         {func(c *lang.Campaign, _ *Input) { c.Phases[0].MaxParallel = 7 }, 15, "about 18h"},
		"room enough without":           {func(_ *lang.Campaign, in *Input) { in.Pools[1].MaxJobs = 60 }, 0, "no sooner"},
		"a smoke is tried first":        {both(cash("14"), smoke(0, 59)), 10, "none of them starts before its smoke has passed on slurm.alpine, and none is tried on vastai.x 4090"},
		"every job has a smoke":         {smoke(all...), 0, "every job of it is tried on slurm.alpine aa100"},
		"a pilot stays where it is":     {both(cash("14"), func(c *lang.Campaign, _ *Input) { c.Phases[0].Pilot = []int{59} }), 10, "10 of 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			camp := load(t, func(c *lang.Campaign) {
				c.Backends = append(c.Backends, &lang.Backend{Type: "slurm", Name: "alpine"}, &lang.Backend{Type: "vastai", Name: "x"})
				c.Phases[0].Candidates, c.Phases[0].Overflow = []string{"slurm.alpine"}, []string{"vastai.x"}
			}, phaseSpec{name: "a", seeds: all, lr: "1", gpus: 1, wall: "4h"})
			in := input(camp, nil)
			in.Pools = append(laptop(),
				offer.Pool{Backend: "slurm.alpine", Name: "aa100", Kind: offer.QueuePool, Word: "partition", GPUs: 3, GPUModel: "A100", MaxJobs: 5, Idle: -1, MaxNodes: 8, Price: offer.Price{Known: true}},
				offer.Pool{Backend: "vastai.x", Name: "4090", Kind: offer.RentalPool, Word: "offer", GPUs: 1, Total: 64, Idle: 64, MaxNodes: 1, Price: offer.Price{Known: true, USDPerHour: "0.35"}})
			if c.edit != nil {
				c.edit(camp, &in)
			}
			p, _ := Make(in)
			spilled := 0
			for i := range p.Phases[0].Kind {
				if p.Phases[0].Decision(i).Backend != "vastai.x" {
					continue
				}
				if spilled++; slices.Contains(camp.Phases[0].Pilot, i) || camp.Phases[0].Smoke != nil && slices.Contains(camp.Phases[0].Smoke.Cells, i) {
					t.Errorf("cell %d is tried elsewhere than the phase goes first", i)
				}
			}
			if notes := strings.Join(p.Notes, "\n"); spilled != c.spill || !strings.Contains(notes, c.says) {
				t.Errorf("%d of 60 overflow, not %d\n%s", spilled, c.spill, notes)
			}
		})
	}
}

func spentState(usd string) *state.State {
	return &state.State{Ledger: []state.Entry{{Phase: "a", Backend: "vastai.x", Spent: state.TextsOf(state.Amounts{"usd": usd})}}}
}
