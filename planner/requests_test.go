package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// halfDone is a campaign of 20 jobs, of which the first 10 are done, each as
// the test says.
func halfDone(t *testing.T, wall string, shape func(*offer.Shape), used func(seed int) state.Usage) Input {
	t.Helper()
	var seeds []int
	for i := 1; i <= 20; i++ {
		seeds = append(seeds, i)
	}
	c := load(t, nil, phaseSpec{name: "a", seeds: seeds, lr: "1", wall: wall, sizes: true})
	in := input(c, applied(t, c, state.Completed))
	in.Pools[0].CPUs = 64
	for i := range c.Phases[0].Requests(lang.Run) {
		shape(&c.Phases[0].Requests(lang.Run)[i].Shape)
	}
	for i := range seeds {
		job := in.State.Jobs[c.Phases[0].Address(i)]
		if i >= 10 {
			delete(in.State.Jobs, job.Address)
			continue
		}
		u := used(seeds[i])
		job.Attempts[0].Started, job.Attempts[0].Ended, job.Attempts[0].Usage = now, now, &u
	}
	return in
}

func TestRequestsFarOffTheEvidence(t *testing.T) {
	// Requirement: SM-21
	t.Parallel()
	const gib = 1 << 30
	plain := func(*offer.Shape) {}
	for name, c := range map[string]struct {
		wall  string
		shape func(*offer.Shape)
		used  state.Usage
		want  string // of the notes; "" for none
	}{
		"as asked for":             {"1h", func(s *offer.Shape) { s.Memory, s.CPUs = 4*gib, 2 }, state.Usage{Elapsed: 2400, CPU: 4000, MaxRSS: 3 * gib}, ""},
		"memory, eight times":      {"1h", func(s *offer.Shape) { s.Memory = 64 * gib }, state.Usage{Elapsed: 2400, MaxRSS: 8 * gib}, "phase.a asks for 64GiB of memory, and the most that any of its 10 runs used was 8GiB"},
		"memory, just twice":       {"1h", func(s *offer.Shape) { s.Memory = 16 * gib }, state.Usage{Elapsed: 2400, MaxRSS: 8 * gib}, ""},
		"memory, a fourth":         {"1h", func(s *offer.Shape) { s.Memory = 2 * gib }, state.Usage{Elapsed: 2400, MaxRSS: 8 * gib}, "asks for 2GiB of memory"},
		"memory, and little of it": {"1h", func(s *offer.Shape) { s.Memory = 100_000_000 }, state.Usage{Elapsed: 2400, MaxRSS: 2 << 20}, ""},
		"memory, not measured":     {"1h", func(s *offer.Shape) { s.Memory = 64 * gib }, state.Usage{Elapsed: 2400, MaxRSS: -1}, ""},
		"memory, not asked for":    {"1h", plain, state.Usage{Elapsed: 2400, MaxRSS: 8 * gib}, ""},
		"walltime, four times":     {"4h", plain, state.Usage{Elapsed: 3600}, "phase.a asks for a walltime of 4h, and the most that any of its 10 runs used was 1h"},
		"walltime, short":          {"10m", plain, state.Usage{Elapsed: 1}, ""},
		"walltime, a blink":        {"1h", plain, state.Usage{Elapsed: 0.01}, "the most that any of its 10 runs used was less than 1s"},
		"cores that stood idle":    {"1h", func(s *offer.Shape) { s.CPUs = 8 }, state.Usage{Elapsed: 2400, CPU: 4800}, "phase.a asks for 8 cores, and the most that any of its 10 runs used was 2 cores"},
		"cores, all of them":       {"1h", func(s *offer.Shape) { s.CPUs = 8 }, state.Usage{Elapsed: 2400, CPU: 16800}, ""},
		"cores, none was needed":   {"1h", func(s *offer.Shape) { s.CPUs = 2 }, state.Usage{Elapsed: 2400, CPU: 100}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planned(t, halfDone(t, c.wall, c.shape, func(int) state.Usage { return c.used }))
			notes := strings.Join(p.Notes, "\n")
			if asked := strings.Contains(notes, "asks for"); asked != (c.want != "") || !strings.Contains(notes, c.want) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// TestRuntimeOverWalltime warns, at the line, with how many and why.
func TestRuntimeOverWalltime(t *testing.T) {
	// Requirement: SM-21
	t.Parallel()
	for name, c := range map[string]struct {
		wall    string
		minutes func(seed int) float64
		want    string
	}{
		"the model says so of five": {"15m", func(n int) float64 { return float64(n) }, "5 jobs of phase.a: phase.a[\"n=20\"] is expected to take 20m, and its walltime is 15m (a: fitted as 60s·n from 10 runs"},
		"the median says so of all": {"15m", func(int) float64 { return 20 }, "10 jobs of phase.a"},
		"none comes near":           {"1h", func(n int) float64 { return float64(n) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := halfDone(t, c.wall, func(*offer.Shape) {}, func(n int) state.Usage { return state.Usage{Elapsed: 60 * c.minutes(n)} })
			_, said := Make(in)
			var got []diag.Diagnostic
			for _, d := range said {
				if strings.Contains(d.Summary, "longer than their walltime") {
					got = append(got, d)
				}
			}
			switch {
			case c.want == "" && len(got) == 0:
			case c.want == "" || len(got) != 1:
				t.Fatalf("%v", said)
			case !strings.Contains(got[0].Detail, c.want) || got[0].Severity != diag.Warning || *got[0].Subject != in.Campaign.Phases[0].Asks["walltime"]:
				t.Errorf("%+v", got[0])
			}
		})
	}
}

// TestWorkOverAllLaunches: what goes on from a checkpoint is warned of where it
// needs longer than all of its launches, by the whole of what was seen.
func TestWorkOverAllLaunches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts int
		want     string
	}{
		"two launches of an hour for 90 minutes": {2, ""},
		"one launch":                             {1, "10 jobs of phase.a: phase.a[\"n=11\"] is expected to take 1h30m, and its walltime is 1h (a: mean of 10 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := halfDone(t, "1h", func(*offer.Shape) {}, func(int) state.Usage { return state.Usage{Elapsed: 1800} })
			p := in.Campaign.Phases[0]
			p.Checkpoint, p.Retry = &lang.Checkpoint{}, lang.Retry{Policy: retry.Policy{On: []string{"walltime"}, Max: c.attempts}}
			for _, job := range in.State.Jobs {
				whole := job.Attempts[0]
				whole.Class, whole.Usage = "walltime", &state.Usage{Elapsed: 3600}
				job.Attempts[0].N = 2
				job.Attempts = []state.Attempt{whole, job.Attempts[0]}
			}
			plan, said := Make(in)
			got := ""
			for _, d := range said {
				if strings.Contains(d.Summary, "longer than their walltime") {
					got += d.Detail
				}
			}
			if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
			if w := plan.Forecast.Walltime; c.attempts == 2 && w.P50 != 90*time.Minute { // all at once
				t.Errorf("ends after %s", w.P50)
			}
		})
	}
}

// TestRuntimeOverTheTimeToEnd: where a budget or a price bounds what a job may
// cost, a host's queue asks it to end before its walltime, and it is warned of
// what needs longer than that.
func TestRuntimeOverTheTimeToEnd(t *testing.T) {
	t.Parallel()
	const want = "1 job of phase.a: phase.a[\"n=20\"] is expected to take 20m, and its walltime is 20m20s, of which it has 19m48s until it is asked to end (a: fitted"
	for name, c := range map[string]struct {
		budget, price, queue bool
		want                 string
	}{
		"free":                     {false, false, true, ""},
		"under a budget":           {true, false, true, want},
		"for a price":              {false, true, true, want},
		"where no host's queue is": {true, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := halfDone(t, "20m20s", func(*offer.Shape) {}, func(n int) state.Usage { return state.Usage{Elapsed: 60 * float64(n)} })
			in.Can = map[string]offer.Capabilities{"local": {HostQueue: c.queue}}
			if in.Pools[0].Price = (offer.Price{Known: true}); c.price {
				in.Pools[0].Price.USDPerHour = "1"
			}
			if in.Campaign.Budgets = nil; c.budget {
				in.Campaign.Budgets = []lang.Budget{{Name: "b", Limits: map[string]string{"cpu_hours": "900"}}}
			}
			_, said := Make(in)
			got := ""
			for _, d := range said {
				if strings.Contains(d.Summary, "longer than their walltime") {
					got += d.Detail
				}
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestClocks: what a platform deletes or closes is on the plan when that is
// within its time.
func TestClocks(t *testing.T) {
	// Requirement: CLK-02, STO-13
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3, 4, 5, 6, 7, 8}, lr: "1", wall: "10h", gpus: 1, mod: func(p *lang.Phase) { p.Candidates = []string{"local.local"} }}) // 80 h on one GPU
	day := 24 * time.Hour
	for name, k := range map[string]struct {
		clock offer.Clock
		want  string
	}{
		"an end within the plan": {offer.Clock{What: "the allocation ends", At: now.Add(2 * day)}, "backend.local.local: the allocation ends on 2026-10-03, before the p90 end"},
		"an end after it":        {offer.Clock{What: "the allocation ends", At: now.Add(9 * day)}, ""},
		"an end that has passed": {offer.Clock{What: "the allocation ended", At: now.Add(-day)}, "the allocation ended: due since 2026-09-30"},
		"a purge within":         {offer.Clock{What: "scratch is purged", After: 2 * day}, "scratch is purged after 2d without use, and this plan may take 80h"},
		"a purge after":          {offer.Clock{What: "scratch is purged", After: 60 * day}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(c, nil)
			in.Pools[0].Clocks = []offer.Clock{k.clock}
			notes := strings.Join(planned(t, in).Notes, "\n")
			if told := strings.Contains(notes, k.clock.What); told != (k.want != "") || !strings.Contains(notes, k.want) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// TestStaleFacts warns once of a backend whose facts are older than the policy
// bears.
func TestStaleFacts(t *testing.T) {
	// Requirement: FRS-01
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"})
	for _, k := range []struct {
		verified string
		after    time.Duration
		warns    int
	}{{"2026-01", 180 * 24 * time.Hour, 1}, {"2026-05", 180 * 24 * time.Hour, 0}, {"2026-01", 0, 0}, {"", 180 * 24 * time.Hour, 0}, {"spring", time.Hour, 0}} {
		c.Policy.StaleAfter = k.after
		in := input(c, nil)
		in.Pools[0].Verified = k.verified
		p := planned(t, in)
		n := 0
		for _, d := range p.Diags {
			if d.Summary == "Facts about a backend are old" && d.Address == "backend.local.local" && strings.Contains(d.Detail, k.verified) {
				n++
			}
		}
		if n != k.warns {
			t.Errorf("%q, stale after %s: %d warnings", k.verified, k.after, n)
		}
	}
}
