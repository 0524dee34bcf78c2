package retry

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

const gib = 1 << 30

func TestGrow(t *testing.T) {
	// Requirement: OOM-09
	t.Parallel()
	one := offer.Shape{CPUs: 1, GPUs: 1, Memory: gib, Walltime: time.Hour, Nodes: 1}
	for name, c := range map[string]struct {
		scale map[string]Scale
		class string
		most  Bound
		want  offer.Shape
	}{
		"no part of a core is given":       {map[string]Scale{"flaky": {CPUs: 1.4}}, "flaky", Bound{}, offer.Shape{CPUs: 2, GPUs: 1, Memory: gib, Walltime: time.Hour}},
		"the error of a float is no core":  {map[string]Scale{"flaky": {CPUs: 1.1}}, "flaky", Bound{}, offer.Shape{CPUs: 2, GPUs: 1, Memory: gib, Walltime: time.Hour}},
		"the own class before its family":  {map[string]Scale{"oom": {Memory: 2}, "oom_host": {Memory: 3}}, "oom_host", Bound{}, offer.Shape{CPUs: 1, GPUs: 1, Memory: 3 * gib, Walltime: time.Hour}},
		"the family where there is no own": {map[string]Scale{"oom": {Memory: 2}, "oom_host": {Memory: 3}}, "oom_sched", Bound{}, offer.Shape{CPUs: 1, GPUs: 1, Memory: 2 * gib, Walltime: time.Hour}},
		"another class":                    {map[string]Scale{"oom": {Memory: 2}}, "nan", Bound{}, one},
		"as far as the pool goes":          {map[string]Scale{"oom": {Memory: 4}}, "oom_host", Bound{Memory: 3 * gib}, offer.Shape{CPUs: 1, GPUs: 1, Memory: 3 * gib, Walltime: time.Hour}},
		"not below what it had":            {map[string]Scale{"walltime": {Walltime: 4}}, "walltime", Bound{Walltime: time.Minute}, one},
		"less":                             {map[string]Scale{"x": {Memory: 0.5, CPUs: 0.01, GPUs: 0.01}}, "x", Bound{}, offer.Shape{CPUs: 1, GPUs: 1, Memory: gib / 2, Walltime: time.Hour}},
		"no number":                        {map[string]Scale{"x": {Memory: math.NaN(), CPUs: -1, GPUs: math.Inf(-1), Walltime: 0}}, "x", Bound{}, one},
		"beyond all":                       {map[string]Scale{"x": {Memory: 1e300, CPUs: math.Inf(1), GPUs: 1e9, Walltime: 1e12}}, "x", Bound{}, offer.Shape{CPUs: mostUnits, GPUs: 1e9, Memory: mostBytes, Walltime: mostTime}},
	} {
		got := Policy{Scale: c.scale}.Grow(one, c.class, c.most)
		if got.CPUs != c.want.CPUs || got.GPUs != c.want.GPUs || got.Memory != c.want.Memory || got.Walltime != c.want.Walltime {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	ten := offer.Shape{CPUs: 10}
	if got := (Policy{Scale: map[string]Scale{"x": {CPUs: 1.1}}}).Grow(ten, "x", Bound{}); got.CPUs != 11 {
		t.Errorf("10 cores by 1.1 are %d", got.CPUs)
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 1, Memory: gib, Walltime: time.Hour}
	oom := Policy{On: []string{"oom"}, Max: 3, Scale: map[string]Scale{"oom_host": {Memory: 2}}}
	longer := Policy{On: []string{"walltime"}, Max: 3, Scale: map[string]Scale{"walltime": {Walltime: 2}}}
	for name, c := range map[string]struct {
		Policy
		Failure
		most Bound
		want Reason
	}{
		"not in retry.on":                       {oom, Failure{Class: "nan", Launch: 1}, Bound{}, NotCovered},
		"in retry.on":                           {oom, Failure{Class: "oom_gpu", Launch: 1}, Bound{}, ""},
		"the last launch":                       {oom, Failure{Class: "oom_gpu", Launch: 3}, Bound{}, UsedUp},
		"no policy":                             {Policy{}, Failure{Class: "oom_gpu", Launch: 1}, Bound{}, NotCovered},
		"a block of the campaign holds it":      {oom, Failure{Class: "oom_gpu", Action: "hold", Launch: 1}, Bound{}, Held},
		"a block of the campaign fails it":      {oom, Failure{Class: "oom_gpu", Action: "fail", Launch: 1}, Bound{}, Failed},
		"a block of the campaign retries it":    {oom, Failure{Class: "glitch", Action: "retry", Launch: 1}, Bound{}, ""},
		"as much memory as there is":            {oom, Failure{Class: "oom_host", Launch: 1}, Bound{Memory: gib}, TooSmall},
		"some more":                             {oom, Failure{Class: "oom_host", Launch: 1}, Bound{Memory: gib + 1}, ""},
		"a device's memory is no shape's":       {oom, Failure{Class: "oom_gpu", Launch: 1}, Bound{Memory: gib}, ""},
		"walltime, longer":                      {longer, Failure{Class: "walltime", Launch: 1}, Bound{}, ""},
		"walltime, as long as it may":           {longer, Failure{Class: "walltime", Launch: 1}, Bound{Walltime: time.Hour}, NoProgress},
		"walltime, as long, from where it was":  {longer, Failure{Class: "walltime", Launch: 1, Moved: true}, Bound{Walltime: time.Hour}, ""},
		"walltime, with more of something else": {Policy{On: []string{"walltime"}, Max: 3, Scale: map[string]Scale{"walltime": {CPUs: 2}}}, Failure{Class: "walltime", Launch: 1}, Bound{}, NoProgress},
	} {
		if got := c.After(c.Failure, s, c.most); got.Why != c.want || got.Again != (c.want == "") {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	// Requirement: OOM-11
	t.Parallel()
	s := offer.Shape{CPUs: 1, Memory: gib, Walltime: time.Hour}
	double := map[string]Scale{"walltime": {Walltime: 2}}
	for name, c := range map[string]struct {
		Phase
		most Bound
		want int
	}{
		"no policy":                           {Phase{}, Bound{}, 1},
		"nothing is covered":                  {Phase{Policy: Policy{Max: 5}}, Bound{}, 1},
		"any class":                           {Phase{Policy: Policy{On: []string{"nan"}, Max: 5}}, Bound{}, 5},
		"a failure block's":                   {Phase{Policy: Policy{Max: 5}, Sometimes: []string{"glitch"}}, Bound{}, 5},
		"walltime, no longer and no progress": {Phase{Policy: Policy{On: []string{"walltime"}, Max: 5}}, Bound{}, 1},
		"walltime, with a checkpoint":         {Phase{Policy: Policy{On: []string{"walltime"}, Max: 5}, Resumes: true}, Bound{}, 5},
		"walltime, longer":                    {Phase{Policy: Policy{On: []string{"walltime"}, Max: 5, Scale: double}}, Bound{}, 5},
		"walltime, longer up to the pool's":   {Phase{Policy: Policy{On: []string{"walltime"}, Max: 5, Scale: double}}, Bound{Walltime: 3 * time.Hour}, 3},
		"and another class":                   {Phase{Policy: Policy{On: []string{"walltime", "nan"}, Max: 5, Scale: double}}, Bound{Walltime: 3 * time.Hour}, 5},
		"and memory, each to its end": {Phase{Policy: Policy{On: []string{"walltime", "oom_host"}, Max: 9, Scale: map[string]Scale{"walltime": {Walltime: 2}, "oom": {Memory: 2}}}},
			Bound{Walltime: 3 * time.Hour, Memory: 4 * gib}, 5},
		"in segments": {Phase{}.InSegments(4), Bound{}, 4},
	} {
		if got := c.Count(s, c.most); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	slow := Phase{Policy: Policy{On: []string{"oom_host"}, Max: 10_000, Scale: map[string]Scale{"oom_host": {Memory: 1.0001}}}}
	if got := slow.Worst(s, Bound{Memory: 2 * gib}); len(got) != slow.Max || got[slow.Max-1].Memory != 2*gib {
		t.Errorf("%d launches, the last of %d bytes", len(got), got[len(got)-1].Memory)
	}
}

// TestNothingExceedsTheWorst: however a job fails, its n-th launch asks for no
// more than was counted ahead, and it has no more launches.
func TestNothingExceedsTheWorst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom(append(failure.Known(), "glitch"))
		on := rapid.SampledFrom(append(failure.Known(), "oom", "glitch"))
		factors := rapid.OneOf(rapid.Float64Range(0.01, 4), rapid.SampledFrom([]float64{0, 1, 1000, 1e9, math.NaN(), math.Inf(1), -1}))
		scale := rapid.Custom(func(t *rapid.T) Scale {
			return Scale{factors.Draw(t, "memory"), factors.Draw(t, "cpus"), factors.Draw(t, "gpus"), factors.Draw(t, "walltime"), factors.Draw(t, "disk")}
		})
		p := Phase{Policy: Policy{On: rapid.SliceOfN(on, 0, 4).Draw(t, "on"), Max: rapid.IntRange(0, 9).Draw(t, "max"), Scale: rapid.MapOfN(on, scale, 0, 4).Draw(t, "scale")},
			Resumes: rapid.Bool().Draw(t, "resumes")}
		retried := rapid.Bool().Draw(t, "a block retries glitch")
		if retried {
			p.Sometimes = []string{"glitch"}
		}
		first := offer.Shape{CPUs: rapid.IntRange(1, 64).Draw(t, "cpus"), GPUs: rapid.IntRange(0, 8).Draw(t, "gpus"), Memory: rapid.Int64Range(0, 64*gib).Draw(t, "memory"),
			Walltime: time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "walltime"))}
		most := Bound{CPUs: rapid.IntRange(0, 128).Draw(t, "most cpus"), GPUs: rapid.IntRange(0, 8).Draw(t, "most gpus"),
			Memory: rapid.Int64Range(0, 128*gib).Draw(t, "most memory"), Walltime: time.Duration(rapid.Int64Range(0, int64(96*time.Hour)).Draw(t, "most walltime"))}
		if n := rapid.IntRange(1, 3).Draw(t, "segments"); n > 1 {
			p = p.InSegments(n)
		}
		worst, s := p.Worst(first, most), first
		if alike := p.Alike(first, most); alike && larger(worst[len(worst)-1], first) {
			t.Fatalf("launches are said to be alike: %+v", worst)
		}
		for n := 1; ; n++ {
			if n > len(worst) {
				t.Fatalf("launch %d, and %d were counted", n, len(worst))
			}
			if larger(s, worst[n-1]) {
				t.Fatalf("launch %d asks for %+v, and %+v was counted", n, s, worst[n-1])
			}
			f := Failure{Class: class.Draw(t, "class"), Launch: n, Moved: p.Resumes && rapid.Bool().Draw(t, "moved")}
			if f.Class == "glitch" && retried {
				f.Action = "retry"
			}
			if f.Class == failure.Walltime && s.Walltime == 0 {
				f.Class = failure.Killed // nothing ends it
			}
			next := p.After(f, s, most)
			if !next.Again {
				return
			}
			s = next.Shape
		}
	})
}
