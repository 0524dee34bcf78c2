package planner

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers/offer"
)

// TestFasterIsThePlan: each thing that would make a plan end sooner ends when,
// and costs what, the plan says that is made with it.
func TestFasterIsThePlan(t *testing.T) {
	// Requirement: CST-12
	t.Parallel()
	tried := map[string]int{}
	for seed := range uint64(150) {
		c, in := drawSlow(t, rand.New(rand.NewPCG(seed, 5)))
		p := planned(t, in)
		for _, way := range p.Faster() {
			kind, undo := makeChange(t, c, &in, way.What)
			with := planned(t, in)
			undo()
			tried[kind]++
			if len(p.Transfers)+len(with.Transfers) > 0 {
				tried["moves"]++
			}
			if end := with.Forecast.Walltime.P50; end != way.End {
				t.Errorf("seed %d: %q would end after %s, and its plan after %s", seed, way.What, way.End, end)
			}
			for _, unit := range []string{"usd", "service_units"} {
				was, is := forecast.LineOf(p.Forecast.Lines, unit).Expected, forecast.LineOf(with.Forecast.Lines, unit).Expected
				if was.Mark == forecast.Unknown || is.Mark == forecast.Unknown {
					if !way.Unknown {
						t.Errorf("seed %d: %q is told a price that its plan does not know", seed, way.What)
					}
					continue
				}
				if more := number(is.Text).Sub(number(was.Text)); !more.Equal(number(way.Costs[unit])) {
					t.Errorf("seed %d: %q costs %s %s more, and its plan %s", seed, way.What, cmp.Or(way.Costs[unit], "no"), unit, more)
				}
			}
		}
	}
	for _, kind := range []string{"devices", "cap", "place", "moves"} {
		if tried[kind] < 20 {
			t.Errorf("only %d of %s were tried", tried[kind], kind)
		}
	}
}

func number(text string) decimal.Decimal { return decimal.RequireFromString(cmp.Or(text, "0")) }

// drawSlow is a campaign of a few phases on a machine, a cluster and a priced
// one, any of which may be what keeps it.
func drawSlow(t *testing.T, rnd *rand.Rand) (*lang.Campaign, Input) {
	pools := []offer.Pool{
		{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 64, GPUs: 2 + rnd.IntN(3), Price: offer.Price{Known: true}},
		{Backend: "slurm.big", Name: "q", Kind: offer.QueuePool, Word: "partition", CPUs: 64, GPUs: 3, GPUModel: "A100", Total: 3 * (1 + rnd.IntN(3)), MaxNodes: 3, Price: offer.Price{Known: true, SUPerGPUHour: "10"}},
		{Backend: "ssh.paid", Kind: offer.MachinePool, Word: "machine", CPUs: 64, GPUs: 2, Price: offer.Price{Known: rnd.IntN(4) > 0, USDPerGPUHour: "1.5"}},
	}
	pools[1].WholeNode, pools[1].Wait = rnd.IntN(4) == 0, time.Duration(rnd.IntN(3))*time.Hour
	for i := range pools {
		if pools[i].Total == 0 {
			pools[i].Total = pools[i].GPUs
		}
		pools[i].Idle = pools[i].Total
	}
	var specs []phaseSpec
	for k := range 1 + rnd.IntN(3) {
		s := phaseSpec{name: string(rune('a' + k)), lr: "1", gpus: 1 + rnd.IntN(2), wall: fmt.Sprintf("%dh", 1+rnd.IntN(6)), smoke: rnd.IntN(4) == 0, pilot: rnd.IntN(4) == 0, seeds: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}[:2+rnd.IntN(11)]}
		if k > 0 && rnd.IntN(2) == 0 { // files of 20 GB, which move where their readers are elsewhere
			s.input, s.seeds = specs[k-1].name, specs[k-1].seeds
		}
		s.mod = func(p *lang.Phase) { p.Outputs[0].MinSize = 20e9 }
		specs = append(specs, s)
	}
	c := load(t, func(c *lang.Campaign) {
		c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab"}, &lang.Backend{Type: "slurm", Name: "big"}, &lang.Backend{Type: "ssh", Name: "paid"})
		all := []string{"ssh.lab", "slurm.big", "ssh.paid"}
		for k, p := range c.Phases {
			rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			p.Candidates, p.Prefer = slices.Clone(all[:1+rnd.IntN(3)]), "order"
			if k > 0 && rnd.IntN(2) == 0 {
				p.DependsOn = []string{c.Phases[k-1].Name}
			}
			if rnd.IntN(3) == 0 {
				p.MaxParallel = 1 + rnd.IntN(3)
			}
		}
		if rnd.IntN(3) == 0 {
			c.MaxParallel = 2 + rnd.IntN(4)
		}
	}, specs...)
	in := input(c, nil)
	in.Pools = append(laptop(), pools...)
	return c, in
}

// makeChange makes what a plan was told that would make it end sooner.
func makeChange(t *testing.T, c *lang.Campaign, in *Input, what string) (kind string, undo func()) {
	t.Helper()
	pools := slices.Clone(in.Pools)
	var n, was int
	if _, err := fmt.Sscanf(what, "max_parallel = %d instead of %d", &n, &was); err == nil {
		at := &c.MaxParallel
		if _, name, ok := strings.Cut(what, " in phase."); ok {
			at = &phaseNamed(c, name).MaxParallel
		}
		if *at != was {
			t.Fatalf("%q: it is %d", what, *at)
		}
		*at = n
		return "cap", func() { *at = was }
	}
	if _, err := fmt.Sscanf(what, "%d more GPU", &n); err == nil {
		_, where, _ := strings.Cut(what, " on ")
		where, _, _ = strings.Cut(where, ",")
		in.Pools = slices.Clone(pools)
		p := &in.Pools[slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == where })]
		p.Total, p.Idle = p.Total+n, p.Idle+n
		if p.Word == "machine" {
			p.GPUs += n
		}
		return "devices", func() { in.Pools = pools }
	}
	name, where, ok := strings.Cut(strings.TrimPrefix(what, "phase."), " on ")
	if !ok {
		t.Fatalf("%q is nothing that can be made", what)
	}
	where, _, _ = strings.Cut(where, ",")
	p := phaseNamed(c, name)
	candidates := p.Candidates
	p.Candidates = []string{where}
	return "place", func() { p.Candidates = candidates }
}

func phaseNamed(c *lang.Campaign, name string) *lang.Phase {
	return c.Phases[slices.IndexFunc(c.Phases, func(p *lang.Phase) bool { return p.Name == name })]
}
