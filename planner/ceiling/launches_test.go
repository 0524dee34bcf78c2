package ceiling

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// TestScaledLaunches: at most counts each later launch as large as retries
// may make it, up to the pool.
func TestScaledLaunches(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 2, Memory: 1 << 30, Walltime: time.Hour}
	r := lang.Retry{Policy: retry.Policy{On: []string{"walltime", "oom"}, Max: 4, Scale: map[string]lang.Scale{"walltime": {Walltime: 2}, "oom": {Memory: 1.5, Walltime: 0.5}}}}
	got := Shapes(s, r, offer.Pool{MaxTime: 3 * time.Hour})
	var hours []float64
	for _, l := range got {
		hours = append(hours, l.Walltime.Hours())
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 3}, hours); diff != "" || got[1].Memory != 3<<29 {
		t.Errorf("%s%+v", diff, got)
	}
	longer := s
	longer.Walltime = 5 * time.Hour // as a qos may allow
	if got := Shapes(longer, r, offer.Pool{MaxTime: 3 * time.Hour}); got[3].Walltime != longer.Walltime {
		t.Errorf("a walltime that fits is cut: %+v", got)
	}
	if Shapes(s, lang.Retry{Policy: retry.Policy{On: r.On, Max: 3}}, offer.Pool{}) != nil || Shapes(s, lang.Retry{Policy: retry.Policy{On: r.On, Max: 1, Scale: r.Scale}}, offer.Pool{}) != nil {
		t.Error("without scaling or a second launch there is nothing to list")
	}
	d := place.Decision{Backend: "b", Shape: s, Price: offer.Price{Known: true, USDPerHour: "1"}}
	out, known := Ceiling(d, r, []offer.Pool{{Backend: "b", MaxTime: 3 * time.Hour}})
	if !known.All() || out[place.USD].String() != "9" || out[place.CPUHours].String() != "18" {
		t.Errorf("%v %v", out, known)
	}
	f := forecast.Make(forecast.Input{Phases: []forecast.Phase{{Name: "p", Of: []uint16{1}, Groups: []forecast.Group{{}, {
		Decision: d, Runtime: forecast.Declared(time.Hour), Launches: 4, Shapes: got,
	}}}}})
	if f.Lines[0].AtMost.Text != "9" {
		t.Errorf("%+v", f.Lines)
	}
}

// TestDearer: of the candidates those that cost most in some unit, and none that
// costs less than the decision or whose price is not known in it.
func TestDearer(t *testing.T) {
	t.Parallel()
	price := func(usd, su string) offer.Price { return offer.Price{Known: true, USDPerHour: usd, SUPerNodeHour: su} }
	for name, c := range map[string]struct {
		here   offer.Price
		others []offer.Price
		want   []string // pools
	}{
		"no other":                       {price("1", ""), nil, nil},
		"cheaper":                        {price("2", "2"), []offer.Price{price("1", "1")}, nil},
		"dearer in money":                {price("1", "2"), []offer.Price{price("2", "1")}, []string{"0"}},
		"dearer in units":                {price("2", "1"), []offer.Price{price("1", "2")}, []string{"0"}},
		"dearer in both":                 {price("1", "1"), []offer.Price{price("2", "2")}, []string{"0"}},
		"one in money, another in units": {price("1", "1"), []offer.Price{price("2", ""), price("3", ""), price("", "2"), price("", "3")}, []string{"1", "3"}},
		"not known":                      {price("1", "1"), []offer.Price{{UnknownSU: true}}, nil},
		"in units not known":             {price("1", "1"), []offer.Price{{Known: true, USDPerHour: "2", UnknownSU: true}}, []string{"0"}},
	} {
		d := place.Decision{Backend: "b", Pool: "here", Shape: offer.Shape{CPUs: 1, Walltime: time.Hour}, Price: c.here, Limits: offer.Limits{MaxJobs: 1}}
		d.Candidates = []place.Candidate{{Backend: "b", Pool: "here", Fits: true, Won: true, Price: price("100", "100")}, {Backend: "b", Pool: "small", Price: price("100", "100")}}
		for i, p := range c.others {
			d.Candidates = append(d.Candidates, place.Candidate{Backend: "b", Pool: fmt.Sprint(i), Fits: true, Price: p})
		}
		var got []string
		for _, o := range Dearer(d) {
			got = append(got, o.Pool)
			if o.Limits != (offer.Limits{}) {
				t.Errorf("%s: what holds here is said to hold on %s: %+v", name, o.Pool, o.Limits)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSegmentsCeiling: the ceiling covers the launches of all segments, each a
// whole minute long, so that the last is not refused.
func TestSegmentsCeiling(t *testing.T) {
	t.Parallel()
	d := place.Decision{Backend: "b", Segments: 7, Shape: offer.Shape{CPUs: 1, Walltime: 100 * time.Hour}, Price: offer.Price{Known: true, USDPerHour: "1"}}
	for most, want := range map[int]string{1: "100.1", 2: "114.4", 3: "128.7"} {
		r := lang.Retry{Policy: retry.Policy{Max: most}}
		out, _ := Ceiling(d, r, nil)
		if out[place.USD].String() != want {
			t.Errorf("%d attempts: $%s, not $%s", most, out[place.USD], want)
		}
		f := forecast.Make(forecast.Input{Phases: []forecast.Phase{{Name: "p", Of: []uint16{1}, Groups: []forecast.Group{{}, {
			Decision: d, Runtime: forecast.Declared(100 * time.Hour), Launches: most, Shapes: Of(d, r, nil),
		}}}}})
		if f.Lines[0].AtMost.Text != want {
			t.Errorf("%d attempts: the plan says %+v", most, f.Lines[0])
		}
	}
	d.Segments, d.Boot, d.Shape.Walltime = 1, 30*time.Minute, time.Hour
	if out, _ := Ceiling(d, lang.Retry{Policy: retry.Policy{On: []string{"killed"}, Max: 2}}, nil); out[place.USD].String() != "3" || out[place.CPUHours].String() != "2" {
		t.Errorf("two launches of an hour with half an hour of boot each: %v", out)
	}
}

func TestSegmentsAddUpToTheWalltime(t *testing.T) {
	t.Parallel()
	for walltime, want := range map[time.Duration]time.Duration{30 * time.Hour: 15 * time.Hour, 25 * time.Hour: 12*time.Hour + 30*time.Minute, 61 * time.Minute: 31 * time.Minute} {
		if got := Segment(offer.Shape{Walltime: walltime}, 2).Walltime; got != want {
			t.Errorf("half of %s is %s, want %s", walltime, got, want)
		}
	}
	if got := Segment(offer.Shape{Walltime: time.Hour}, 1).Walltime; got != time.Hour {
		t.Errorf("one segment is %s", got)
	}
}

// At most counts every launch at the dearest place that a failure may move a job to.
func TestLaunchesElsewhere(t *testing.T) {
	// Requirement: OOM-08
	t.Parallel()
	s := offer.Shape{CPUs: 1, Walltime: time.Hour}
	at := func(backend, usd string) place.Decision {
		return place.Decision{Backend: backend, Shape: s, Segments: 1, Price: offer.Price{Known: true, USDPerHour: usd}}
	}
	r := lang.Retry{Policy: retry.Policy{On: []string{"oom"}, Max: 3}, Place: map[string][]string{"oom_gpu": {"b"}}}
	d := at("a", "1")
	d.After = []place.Fallback{{Class: "oom_gpu", To: at("b", "5")}}
	if got, known := Ceiling(d, r, nil); got["usd"].String() != "15" || !known.USD {
		t.Errorf("at most %s, want 15 (known: %v)", got["usd"], known)
	}
	if got := Dearer(d); len(got) != 1 || got[0].Backend != "b" {
		t.Errorf("the forecast's at most knows of %+v", got)
	}
	d.After[0].To.Price.Known = false
	if _, known := Ceiling(d, r, nil); known.USD {
		t.Error("the price of the other place is not known")
	}
}
