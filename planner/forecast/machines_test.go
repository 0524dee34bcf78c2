package forecast

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

// TestRentedMachinesAreShared: jobs of one machine pay its boot, its hold and the rounding of
// its bill once. Each phase has machines of its own at p90, and each launch at most.
func TestRentedMachinesAreShared(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	hourly := offer.Price{Known: true, USDPerHour: "6", Granularity: time.Hour}
	bySecond := offer.Price{Known: true, USDPerHour: "6", Granularity: time.Second}
	rented := func(price offer.Price, gpus int) Group { // expected 5m, p90 10m
		g := priced("vastai.cloud", offer.Shape{CPUs: 1, GPUs: gpus, Nodes: 1}, price, 10*m, 1)
		g.Decision.Boot, g.Decision.Hold = 4*m, 10*m
		return g
	}
	pool := func(gpus, boxes int) []offer.Pool {
		return []offer.Pool{{Backend: "vastai.cloud", Kind: offer.RentalPool, GPUs: gpus, Total: gpus * boxes, MaxJobs: gpus * boxes}}
	}
	for name, c := range map[string]struct {
		in   Input
		want string
		end  time.Duration
	}{
		"one job":                      {Input{Phases: []Phase{oneOf("a", 1, rented(bySecond, 1))}, Pools: pool(1, 1)}, "usd 1.9* 2.4* 2.4", 9 * m},
		"eight jobs on a machine":      {Input{Phases: []Phase{oneOf("a", 8, rented(bySecond, 1))}, Pools: pool(1, 1)}, "usd 5.4* 9.4* 19.2", 44 * m},
		"on two":                       {Input{Phases: []Phase{oneOf("a", 8, rented(bySecond, 1))}, Pools: pool(1, 2)}, "usd 6.8* 10.8* 19.2", 24 * m},
		"on more than there are jobs":  {Input{Phases: []Phase{oneOf("a", 2, rented(bySecond, 1))}, Pools: pool(1, 9)}, "usd 3.8* 4.8* 4.8", 9 * m},
		"a bill by the hour":           {Input{Phases: []Phase{oneOf("a", 8, rented(hourly, 1))}, Pools: pool(1, 1)}, "usd 6* 12* 48", 44 * m},
		"two jobs beside one another":  {Input{Phases: []Phase{oneOf("a", 8, rented(bySecond, 1))}, Pools: pool(2, 1)}, "usd 3.4* 5.4* 19.2", 24 * m},
		"a job that fills its machine": {Input{Phases: []Phase{oneOf("a", 8, rented(bySecond, 2))}, Pools: pool(2, 1)}, "usd 5.4* 9.4* 19.2", 44 * m},
		"a cap leaves machines out":    {Input{Phases: []Phase{oneOf("a", 8, rented(bySecond, 1))}, Pools: pool(1, 4), BackendCaps: map[string]int{"vastai.cloud": 1}}, "usd 5.4* 9.4* 19.2", 44 * m},
		"two phases":                   {Input{Phases: []Phase{oneOf("a", 4, rented(bySecond, 1)), oneOf("b", 4, rented(bySecond, 1))}, Pools: pool(1, 1)}, "usd 5.4* 10.8* 19.2", 44 * m},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Shared, c.in.Driven = map[string]bool{"vastai.cloud": true}, map[string]bool{"vastai.cloud": true}
			f := Make(c.in)
			if d := cmp.Diff(c.want, show(f.Lines)[0]); d != "" {
				t.Error(d)
			}
			if f.Walltime.P50 != c.end {
				t.Errorf("ends after %v, not %v", f.Walltime.P50, c.end)
			}
			if _, lines := Outlook(c.in); show(lines)[0] != show(f.Lines)[0] {
				t.Errorf("the outlook has %s", show(lines)[0])
			}
		})
	}
}

// TestMachinesThatWereGivenBack: a machine is there for a job that starts within its hold.
func TestMachinesThatWereGivenBack(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	f.take(3, 0)
	f.take(-2, 10*time.Minute)
	if got := f.idle(15*time.Minute, 10*time.Minute); got != 2 {
		t.Errorf("%d idle within the hold, not 2", got)
	}
	if got := f.idle(21*time.Minute, 10*time.Minute); got != 0 {
		t.Errorf("%d idle after the hold", got)
	}
}
