package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestFaster: each thing that is tried ends the plan when it says, and costs
// what it says.
func TestFaster(t *testing.T) {
	t.Parallel()
	seeds := []int{1, 2, 3, 4, 5, 6, 7, 8}
	for name, c := range map[string]struct {
		wall string
		edit func(*lang.Campaign, *Input)
		want []string // what: end, price
	}{
		"one more GPU": {"2h", nil, []string{"1 more GPU on ssh.lab: 4h, for the same"}}, // 8 h on one, 4 h on two
		"a dearer candidate that waits for nothing": {"2h", func(c *lang.Campaign, in *Input) {
			c.Phases[0].Candidates = []string{"ssh.lab", "slurm.big"}
			in.Pools = append(in.Pools, offer.Pool{Backend: "slurm.big", Name: "q", Kind: offer.QueuePool, Word: "partition", GPUs: 8, Total: 8, Idle: 8, MaxNodes: 8, Price: offer.Price{Known: true, SUPerGPUHour: "10"}})
		}, []string{"phase.a on slurm.big, q, if it is as fast there: 1h, for 80 service units more", "1 more GPU on ssh.lab: 4h, for the same"}},
		"an unknown price": {"2h", func(c *lang.Campaign, in *Input) {
			c.Phases[0].Candidates = []string{"ssh.lab", "slurm.big"}
			in.Pools = append(in.Pools, offer.Pool{Backend: "slurm.big", Name: "q", GPUs: 8, Total: 8, Idle: 8, MaxNodes: 8})
		}, []string{"phase.a on slurm.big, q, if it is as fast there: 1h, at an unknown price", "1 more GPU on ssh.lab: 4h, for the same"}},
		"a place of which nobody knows how much fits": {"2h", func(c *lang.Campaign, in *Input) {
			c.Phases[0].Candidates = []string{"ssh.lab", "slurm.big"}
			in.Pools = append(in.Pools, offer.Pool{Backend: "slurm.big", Name: "q", Kind: offer.QueuePool, Word: "partition", GPUs: 1, MaxNodes: 8, Price: offer.Price{Known: true, SUPerGPUHour: "10"}})
		}, []string{"phase.a on slurm.big, q, if it is as fast there and has room for 8 jobs at once: 1h, for 80 service units more", "1 more GPU on ssh.lab: 4h, for the same"}},
		"a cap": {"2h", func(c *lang.Campaign, in *Input) {
			c.Phases[0].MaxParallel = 2
			in.Pools[1].GPUs, in.Pools[1].Total, in.Pools[1].Idle = 8, 8, 8
		}, []string{"max_parallel = 4 instead of 2 in phase.a: 2h, for the same"}},
		"too short to matter": {"2m", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			camp := load(t, func(c *lang.Campaign) {
				c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab"}, &lang.Backend{Type: "slurm", Name: "big"})
				c.Phases[0].Candidates = []string{"ssh.lab"}
			}, phaseSpec{name: "a", seeds: seeds, lr: "1", gpus: 1, wall: c.wall})
			in := input(camp, nil)
			in.Pools = append(laptop(), offer.Pool{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 64, GPUs: 1, Total: 1, Idle: 1, Price: offer.Price{Known: true}})
			if c.edit != nil {
				c.edit(camp, &in)
			}
			p := planned(t, in)
			var got []string
			for _, f := range p.Faster() {
				if f.End+f.Saves != p.Forecast.Walltime.P50 {
					t.Errorf("%s: %s and %s are not %s", f.What, f.End, f.Saves, p.Forecast.Walltime.P50)
				}
				got = append(got, fmt.Sprintf("%s: %s, %s", f.What, strings.TrimSuffix(f.End.Round(time.Minute).String(), "0m0s"), f.Price()))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
