package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
)

var start = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// play submits jobs to a place as its block describes it and tells what
// happened to them, each line with the hours since.
func play(t *testing.T, block string, jobs []providers.Job, more func(clk clock.Clock, s *sim.Sim)) []string {
	t.Helper()
	v := clock.NewVirtual(start)
	s := sim.New(v)
	if err := s.Configure(t.Context(), providers.Backend{Name: "sim.x", Config: json.RawMessage(block)}); err != nil {
		t.Fatal(err)
	}
	var out []string
	v.Stuck = func() { t.Fatalf("nothing can happen any more: %q", out) }
	v.Run(func() {
		r, err := s.Submit(t.Context(), providers.SubmitRequest{Backend: "sim.x", Fence: 1, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r {
			if r[i].Err != nil {
				t.Fatal(r[i].Err)
			}
		}
		left := len(jobs)
		v.Go(func() {
			cursor := ""
			for left > 0 {
				err := s.Watch(t.Context(), providers.WatchRequest{Backend: "sim.x", Cursor: cursor}, func(b providers.Batch) error {
					cursor = b.Cursor
					for _, o := range b.Events {
						line := fmt.Sprintf("%gh %s %s", v.Now().Sub(start).Round(time.Millisecond).Hours(), o.Token, o.Status)
						if o.Class != "" {
							line += " " + o.Class
						}
						if o.Usage != nil && o.Usage.Billed != "" {
							line += ", " + o.Usage.Billed
						}
						if o.Usage != nil && o.Usage.NodeTime > 0 {
							line += fmt.Sprintf(", %gh of its node", o.Usage.NodeTime.Hours())
						}
						out = append(out, line)
						if o.Status == offer.Completed || o.Status == offer.Failed || o.Status == offer.Cancelled {
							left--
						}
					}
					if left == 0 {
						return context.Canceled
					}
					return nil
				})
				if pe := (*providers.Error)(nil); errors.As(err, &pe) {
					out = append(out, fmt.Sprintf("%gh %s", v.Now().Sub(start).Hours(), pe.Class))
					c, _ := v.Timer(time.Hour)
					v.Park(func() bool { return len(c) > 0 })
				}
			}
		})
		if more != nil {
			more(v, s)
		}
		v.Park(func() bool { return left == 0 })
	})
	return out
}

func job(token string, edit ...func(*providers.Job)) providers.Job {
	j := providers.Job{Token: token, Address: "phase.p[" + token + "]", Phase: "p", Attempt: 1, Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: 4 * time.Hour}}
	for _, e := range edit {
		e(&j)
	}
	return j
}

func TestPlacesBehaveAsDeclared(t *testing.T) {
	t.Parallel()
	gpus := func(n int) func(*providers.Job) { return func(j *providers.Job) { j.Shape.GPUs, j.Pool = n, "g" } }
	cores := func(n int) func(*providers.Job) { return func(j *providers.Job) { j.Shape.CPUs = n } }
	turns := func(slots int, allocation time.Duration) func(*providers.Job) {
		return func(j *providers.Job) {
			j.Pack, j.Shape.Pack, j.Shape.Slots, j.Shape.Allocation = "pack", 3, slots, allocation
		}
	}
	for name, c := range map[string]struct {
		block string
		jobs  []providers.Job
		more  func(clk clock.Clock, s *sim.Sim)
		want  []string
	}{
		"slots": {`{"pool":[{"slots":1}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a"), job("b")}, nil,
			[]string{"0h a running", "1h a completed", "1h b running", "2h b completed"}},
		"GPUs of all nodes, those that need alike in one line": {`{"pool":[{"name":"g","nodes":2,"gpus":2}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", gpus(2)), job("b", gpus(1)), job("c", gpus(2))}, nil,
			[]string{"0h a running", "0h c running", "1h a completed", "1h c completed", "1h b running", "2h b completed"}},
		"the cores of its nodes": {`{"pool":[{"nodes":2,"cpus":8}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", cores(5)), job("b", cores(5)), job("c", cores(5))}, nil,
			[]string{"0h a running", "0h b running", "1h a completed", "1h b completed", "1h c running", "2h c completed"}},
		"two GPUs of a node's three": {`{"pool":[{"name":"g","nodes":2,"gpus":3}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", gpus(2)), job("b", gpus(2)), job("c", gpus(2))}, nil,
			[]string{"0h a running", "0h b running", "1h a completed", "1h b completed", "1h c running", "2h c completed"}},
		"a wait, and a boot": {`{"pool":[{"wait":7200,"boot":3600}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a")}, nil,
			[]string{"2h a running", "4h a completed"}},
		"the walltime kills": {`{"jobs":[{"runtime":36000}]}`, []providers.Job{job("a")}, nil,
			[]string{"0h a running", "4h a failed walltime"}},
		"every launch fails": {`{"jobs":[{"runtime":0.000001,"fails":{"nan":1}}]}`, []providers.Job{job("a")}, nil,
			[]string{"0h a running", "0h a failed nan"}},
		"only the phases named": {`{"jobs":[{"phases":["q"],"runtime":7200},{"runtime":3600}]}`, []providers.Job{job("a"), job("b", func(j *providers.Job) { j.Phase = "q" })}, nil,
			[]string{"0h a running", "0h b running", "1h a completed", "2h b completed"}},
		"away for two hours": {`{"jobs":[{"runtime":7200}],"outage":[{"after":3600,"lasts":7200}]}`, []providers.Job{job("a")}, nil,
			[]string{"0h a running", "1h unreachable", "2h unreachable", "3h a completed"}},
		"the second launch is billed double": {`{"pool":[{"slots":1,"usd_per_hour":0.5}],"jobs":[{"runtime":3600}],"price_change":[{"launches":[2],"factor":2}]}`, []providers.Job{job("a"), job("b")}, nil,
			[]string{"0h a running", "1h a completed", "1h b running", "2h b completed, 1 usd"}},
		"the price rises": {`{"pool":[{"slots":1,"usd_per_hour":0.5}],"jobs":[{"runtime":3600}],"price_change":[{"after":3600,"factor":3}]}`, []providers.Job{job("a"), job("b")}, nil,
			[]string{"0h a running", "1h a completed", "1h b running", "2h b completed, 1.5 usd"}},
		"one that is cancelled makes room": {`{"pool":[{"slots":1}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a"), job("b")}, func(clk clock.Clock, s *sim.Sim) {
			c, _ := clk.Timer(30 * time.Minute)
			clk.Park(func() bool { return len(c) > 0 })
			_, _ = s.Cancel(context.Background(), providers.CancelRequest{Backend: "sim.x", Fence: 1, Tokens: []string{"a"}})
		}, []string{"0h a running", "0.5h a cancelled", "0.5h b running", "1.5h b completed"}},
		"its turn comes after others": {`{"jobs":[{"runtime":3600}]}`, []providers.Job{job("a"), job("b", func(j *providers.Job) { j.After = []string{"a"} })}, nil,
			[]string{"0h a running", "1h a completed", "1h b running", "2h b completed"}},
		"turns in one slot: the queue is waited for once": {`{"pool":[{"wait":7200}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", turns(1, 8*time.Hour)), job("b", turns(1, 8*time.Hour)), job("c", turns(1, 8*time.Hour))}, nil,
			[]string{"2h a running", "3h a completed, 1h of its node", "3h b running", "4h b completed, 1h of its node", "4h c running", "5h c completed, 1h of its node"}},
		"turns in two slots": {`{"pool":[{"wait":7200}],"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", turns(2, 8*time.Hour)), job("b", turns(2, 8*time.Hour)), job("c", turns(2, 8*time.Hour))}, nil,
			[]string{"2h a running", "2h b running", "3h a completed, 0.5h of its node", "3h c running", "3h b completed, 0.5h of its node", "4h c completed, 1h of its node"}},
		"a turn that does not fit waits in the queue again": {`{"pool":[{"wait":7200}],"jobs":[{"runtime":5400}]}`, []providers.Job{job("a", turns(1, 5*time.Hour)), job("b", turns(1, 5*time.Hour)), job("c", turns(1, 5*time.Hour))}, nil,
			[]string{"2h a running", "3.5h a completed, 1.5h of its node", "5.5h b running", "7h b completed, 1.5h of its node", "9h c running", "10.5h c completed, 1.5h of its node"}},
		"one whose turn has not come is cancelled": {`{"jobs":[{"runtime":3600}]}`, []providers.Job{job("a", turns(1, 12*time.Hour)), job("b", turns(1, 12*time.Hour)), job("c", turns(1, 12*time.Hour))}, func(clk clock.Clock, s *sim.Sim) {
			c, _ := clk.Timer(30 * time.Minute)
			clk.Park(func() bool { return len(c) > 0 })
			_, _ = s.Cancel(context.Background(), providers.CancelRequest{Backend: "sim.x", Fence: 1, Tokens: []string{"b"}})
		}, []string{"0h a running", "0.5h b cancelled", "1h a completed, 1h of its node", "1h c running", "2h c completed, 1h of its node"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(t, c.block, c.jobs, c.more); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestPricesOutliveAProcess: a launch that a site has from before keeps its
// number and its price, and those that start after it are counted on.
func TestPricesOutliveAProcess(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	pool := sim.Pool{Pool: offer.Pool{Price: offer.Price{Known: true, USDPerHour: "1"}}, Slots: 1}
	fate := func(*providers.Job, int) sim.Fate { return sim.Fate{Takes: time.Hour} }
	s := sim.NewOf(v, sim.Schema(), func(providers.Backend) (sim.Site, error) {
		return sim.Site{Pools: []sim.Pool{pool}, Model: fate, Epoch: start.Add(-3 * time.Hour), Launches: map[string]int{"": 3},
			Prices:  []sim.PriceChange{{Launches: []int{2}, Factor: 2}, {Launches: []int{4}, Factor: 5}},
			Present: []sim.Present{{Job: job("a"), Running: true, Since: start.Add(-30 * time.Minute), Nth: 2}}}, nil
	})
	if err := s.Configure(t.Context(), providers.Backend{Name: "sim.x"}); err != nil {
		t.Fatal(err)
	}
	v.Run(func() {
		if _, err := s.Submit(t.Context(), providers.SubmitRequest{Backend: "sim.x", Fence: 1, Jobs: []providers.Job{job("b")}}); err != nil {
			t.Fatal(err)
		}
		over, _ := v.Timer(3 * time.Hour)
		v.Park(func() bool { return len(over) > 0 })
		got, err := s.Find(t.Context(), "sim.x", []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"2 usd", "5 usd"} {
			if u := got[i].Usage; u == nil || u.Billed != want {
				t.Errorf("%s: %+v, not billed %s", got[i].Token, u, want)
			}
		}
	})
}

func TestDrawsDependOnNamesAlone(t *testing.T) {
	t.Parallel()
	jobs := []providers.Job{job("a"), job("b"), job("c"), job("d")}
	ends := func(jobs []providers.Job) map[string]string {
		out := map[string]string{}
		for _, l := range play(t, `{"seed":7,"pool":[{"wait":600,"wait_p90":7200}],"jobs":[{"runtime":3600,"runtime_p90":7200,"fails":{"nan":0.3}}]}`, jobs, nil) {
			var at, token, what string
			_, _ = fmt.Sscan(l, &at, &token, &what)
			if what != "running" {
				out[token] = l
			}
		}
		return out
	}
	first := ends(jobs)
	slices.Reverse(jobs)
	for token, line := range ends(jobs) {
		if first[token] != line {
			t.Errorf("%q when submitted first, %q when last", first[token], line)
		}
	}
}

// TestDistributions holds the draws against what is declared: within four
// standard errors of 4,000 draws.
func TestDistributions(t *testing.T) {
	t.Parallel()
	const n = 4000
	below, above := 0, 0
	for i := range n {
		d := sim.Spread(time.Hour, 2*time.Hour, sim.Normal(3, "x", sim.Attempt(i)))
		if d < time.Hour {
			below++
		}
		if d > 2*time.Hour {
			above++
		}
	}
	if below < n/2-127 || below > n/2+127 {
		t.Errorf("%d of %d are below the median", below, n)
	}
	if above < n/10-76 || above > n/10+76 {
		t.Errorf("%d of %d are above the 90th percentile", above, n)
	}
}

func TestBlocksThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, block := range []string{
		`{"jobs":[{"fails":{"nan":1.5}}]}`, `{"jobs":[{"fails":{"nan":0.7,"oom_gpu":0.7}}]}`, `{"outage":[{"after":0,"lasts":0}]}`,
		`{"pool":[{"name":"a"},{"name":"a"}]}`, `{"price_change":[{"pool":"z","factor":2}]}`, `{"pool":[{"wait":9,"wait_p90":3}]}`, `{"jobs":[{"runtime":9,"runtime_p90":3}]}`,
	} {
		var pe *providers.Error
		if err := sim.New(clock.Wall).Configure(t.Context(), providers.Backend{Name: "sim.x", Config: json.RawMessage(block)}); !errors.As(err, &pe) || pe.Class != providers.Invalid {
			t.Errorf("%s: %v", block, err)
		}
	}
}

func TestTokensAndFences(t *testing.T) {
	t.Parallel()
	s := sim.New(clock.NewVirtual(start))
	if err := s.Configure(t.Context(), providers.Backend{Name: "sim.x"}); err != nil {
		t.Fatal(err)
	}
	submit := func(fence uint64, j providers.Job) (*providers.Error, error) {
		r, err := s.Submit(t.Context(), providers.SubmitRequest{Backend: "sim.x", Fence: fence, Jobs: []providers.Job{j}})
		if err != nil {
			return nil, err
		}
		return r[0].Err, nil
	}
	for range 2 {
		if pe, err := submit(2, job("a")); pe != nil || err != nil {
			t.Errorf("the same job: %v %v", pe, err)
		}
	}
	if pe, err := submit(2, job("a", func(j *providers.Job) { j.Shell = "other" })); err != nil || pe == nil || pe.Class != providers.Conflict {
		t.Errorf("another job under its token: %v %v", pe, err)
	}
	if _, err := submit(1, job("b")); err == nil {
		t.Error("a stale fence was taken")
	}
	if seen, err := s.Find(t.Context(), "sim.x", []string{"a", "b"}); err != nil || seen[0].Status != offer.Running || seen[1].Presence != offer.Absent {
		t.Errorf("%+v %v", seen, err)
	}
}
