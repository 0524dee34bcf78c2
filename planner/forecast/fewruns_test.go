package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestFewRuns: a few runs tell little of how much the next differ, and the
// forecast knows it. Over drawn histories, on few places and on many, its p50 is
// about what half of the campaigns take, and its p90 what nine in ten stay below.
func TestFewRuns(t *testing.T) {
	t.Parallel()
	const histories, jobs = 40, 30
	held, n := 0, 0
	var off []float64
	for _, slots := range []int{6, 200} {
		for _, spread := range []float64{0.3, 0.7} {
			for _, runs := range []int{3, 5, 10} {
				for range histories {
					rnd := rand.New(rand.NewPCG(uint64(n), 1))
					p50, p90, took := heldBack(rnd, runs, jobs, slots, spread)
					off = append(off, math.Log(float64(p50)/float64(took)))
					n++
					if took <= p90 {
						held++
					}
				}
			}
		}
	}
	slices.Sort(off)
	if median := off[n/2]; math.Abs(median) > 0.06 {
		t.Errorf("expected is off by %+.0f %% in the median of %d campaigns", 100*(math.Exp(median)-1), n)
	}
	if share := float64(held) / float64(n); share < 0.87 || share > 0.96 {
		t.Errorf("p90 held in %.0f %% of %d campaigns", 100*share, n)
	}
}

// heldBack forecasts jobs from runs of the same lognormal runtimes, and plays
// them: on so many GPUs, the next on the one that is free first.
func heldBack(rnd *rand.Rand, runs, jobs, gpus int, spread float64) (p50, p90, took time.Duration) {
	return heldBackOf(func() time.Duration {
		return time.Duration(float64(10*time.Minute) * math.Exp(spread*rnd.NormFloat64()))
	}, runs, jobs, gpus)
}

// heldBackOf is the same of any runtimes.
func heldBackOf(draw func() time.Duration, runs, jobs, gpus int) (p50, p90, took time.Duration) {
	seen := make([]time.Duration, runs)
	for i := range seen {
		seen[i] = draw()
	}
	g := Group{Launches: 1, Runtime: Observed("a", seen, 24*time.Hour),
		Decision: place.Decision{Backend: "slurm.c", Shape: offer.Shape{CPUs: 1, GPUs: 1, Nodes: 1, Walltime: 24 * time.Hour}, Price: offer.Price{Known: true}}}
	f := Make(Input{
		Phases: []Phase{{Name: "a", Of: slices.Repeat([]uint16{1}, jobs), Groups: []Group{{}, g}}},
		Pools:  []offer.Pool{{Backend: "slurm.c", Kind: offer.QueuePool, Word: "partition", GPUs: gpus, GPUModel: "A100", Idle: gpus, Total: gpus}},
	})
	free := make([]time.Duration, gpus)
	for range jobs {
		next := slices.Index(free, slices.Min(free))
		free[next] += draw()
	}
	return f.Walltime.P50, f.Walltime.P90, slices.Max(free)
}

// TestShapes: jobs of two kinds, and a few that take many times as long, are
// expected as they are, and not as if they were spread around one mean: when the
// last of many at once ends is decided by those.
func TestShapes(t *testing.T) {
	t.Parallel()
	const histories, runs, jobs = 30, 30, 40
	for name, c := range map[string]struct{ share, slower float64 }{
		"two kinds":   {0.4, 5},
		"a long tail": {0.1, 8},
	} {
		for _, slots := range []int{6, 200} {
			held := 0
			var off []float64
			for n := range histories {
				rnd := rand.New(rand.NewPCG(uint64(n), 3))
				p50, p90, took := heldBackOf(func() time.Duration {
					d := float64(10*time.Minute) * math.Exp(0.15*rnd.NormFloat64())
					if rnd.Float64() < c.share {
						d *= c.slower
					}
					return time.Duration(d)
				}, runs, jobs, slots)
				off = append(off, math.Log(float64(p50)/float64(took)))
				if took <= p90 {
					held++
				}
			}
			slices.Sort(off)
			median := off[histories/2]
			t.Logf("%s on %d places: %+.0f %% off in the median, p90 held in %d of %d", name, slots, 100*(math.Exp(median)-1), held, histories)
			if math.Abs(median) > 0.15 || held < histories*8/10 {
				t.Errorf("%s on %d places: %+.0f %% off in the median, p90 held in %d of %d", name, slots, 100*(math.Exp(median)-1), held, histories)
			}
		}
	}
}
