package planner

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// lab puts phases on hosts of one ssh backend; a host is its free GPUs.
func lab(t testing.TB, shared bool, gpus map[string]int, specs ...phaseSpec) Input {
	t.Helper()
	c := load(t, func(c *lang.Campaign) {
		c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab", Workdir: "/w"})
		for _, p := range c.Phases {
			if p.Candidates == nil {
				p.Candidates = []string{"ssh.lab"}
			}
		}
	}, specs...)
	in := input(c, &state.State{})
	in.Pools = laptop()
	in.Can = map[string]offer.Capabilities{"ssh": {HostQueue: true, GPUs: true, Remote: true}}
	for _, name := range slices.Sorted(maps.Keys(gpus)) {
		p := offer.Pool{Backend: "ssh.lab", Name: name, Kind: offer.HostPool, Word: "host", CPUs: 64, GPUs: gpus[name], Total: gpus[name], Idle: gpus[name], Filesystem: name, Price: offer.Price{Known: true}}
		if shared {
			p.Filesystem = "home"
		}
		in.Pools = append(in.Pools, p)
	}
	return in
}

// shares counts the cells of a phase by host.
func shares(p *Plan, phase string) map[string]int {
	out := map[string]int{}
	pp := p.Phase(phase)
	for i := range pp.Kind {
		out[pp.Decision(i).Pool]++
	}
	return out
}

func TestJobsAreSpreadOverHosts(t *testing.T) {
	// Requirement: WAV-06
	t.Parallel()
	seeds := make([]int, 36)
	for i := range seeds {
		seeds[i] = i
	}
	two := []int{1, 2}
	for name, c := range map[string]struct {
		gpus map[string]int
		spec phaseSpec
		edit func(in *Input)
		want map[string]int
	}{
		"by their GPUs":               {map[string]int{"a": 8, "b": 4}, phaseSpec{gpus: 1}, nil, map[string]int{"a": 24, "b": 12}},
		"two GPUs a job":              {map[string]int{"a": 8, "b": 4}, phaseSpec{gpus: 2}, nil, map[string]int{"a": 24, "b": 12}},
		"a host that is too small":    {map[string]int{"a": 8, "b": 1}, phaseSpec{gpus: 2}, nil, map[string]int{"a": 36}},
		"one host":                    {map[string]int{"a": 8}, phaseSpec{gpus: 1}, nil, map[string]int{"a": 36}},
		"strangers hold half of one":  {map[string]int{"a": 8, "b": 8}, phaseSpec{gpus: 1}, func(in *Input) { in.Pools[len(in.Pools)-1].Idle, in.Pools[len(in.Pools)-1].Others = 4, 4 }, map[string]int{"a": 24, "b": 12}},
		"one is away":                 {map[string]int{"a": 8, "b": 8}, phaseSpec{gpus: 1}, func(in *Input) { in.Pools = in.Pools[:len(in.Pools)-1] }, map[string]int{"a": 36}},
		"a queue each, or not at all": {map[string]int{"a": 8, "b": 8}, phaseSpec{gpus: 1}, func(in *Input) { in.Can = nil }, map[string]int{"a": 36}},
		"a host with other prices": {map[string]int{"a": 8, "b": 8}, phaseSpec{gpus: 1}, func(in *Input) {
			in.Pools[len(in.Pools)-1].Price.USDPerGPUHour = "1"
		}, map[string]int{"a": 36}},
		"what runs already counts": {map[string]int{"a": 1, "b": 1}, phaseSpec{gpus: 1}, func(in *Input) {
			in.State.Jobs = map[string]*state.Job{}
			for _, s := range two {
				job := running(in, "phase.p", s)
				job.Attempts[0].Backend, job.Attempts[0].Pool = "ssh.lab", "a"
				in.State.Jobs[job.Address] = job
			}
		}, map[string]int{"a": 16, "b": 18, "": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.spec.name, c.spec.seeds, c.spec.lr = "p", seeds, "1"
			in := lab(t, false, c.gpus, c.spec)
			if c.edit != nil {
				c.edit(&in)
			}
			p := planned(t, in)
			if d := cmp.Diff(c.want, shares(p, "p")); d != "" {
				t.Error(d)
			}
			again := planned(t, in)
			if !slices.Equal(p.Phases[0].Place, again.Phases[0].Place) || p.ID != again.ID {
				t.Error("the same plan twice spreads otherwise")
			}
		})
	}
}

// running is a record of a job that runs as the plan wants it.
func running(in *Input, phase string, seed int) *state.Job {
	p := in.Campaign.Phases[0]
	i, ok := p.Index(fmt.Sprintf("seed=%d", seed))
	if !ok {
		panic("no such cell")
	}
	h := result.New(Scheme, nil)
	return &state.Job{Address: p.Address(i), Phase: p.Name, Axes: state.TextsOf(p.Axes(i)), Status: state.Running, Result: h.Phase(p)[i].String(),
		Attempts: []state.Attempt{{N: 1, Token: fmt.Sprint(seed), Started: in.Now}}}
}

// TestEdgesStayOnOneHost: what reads a file runs where it is, and nothing
// moves; with one filesystem, or one producer for all, the hosts share evenly.
func TestEdgesStayOnOneHost(t *testing.T) {
	t.Parallel()
	seeds := make([]int, 24)
	for i := range seeds {
		seeds[i] = i
	}
	chain := []phaseSpec{{name: "a", seeds: seeds, lr: "1", gpus: 1}, {name: "b", seeds: seeds, lr: "1", gpus: 1, input: "a"}}
	t.Run("cell by cell", func(t *testing.T) {
		t.Parallel()
		p := planned(t, lab(t, false, map[string]int{"x": 4, "y": 4}, chain...))
		for i := range seeds {
			if at, then := p.Phases[0].Decision(i).Pool, p.Phases[1].Decision(i).Pool; at != then {
				t.Errorf("cell %d: made on %s, read on %s", i, at, then)
			}
		}
		if d := cmp.Diff(map[string]int{"x": 12, "y": 12}, shares(p, "b")); d != "" || len(p.Transfers) > 0 {
			t.Errorf("%s%+v", d, p.Transfers)
		}
	})
	t.Run("from one producer", func(t *testing.T) {
		t.Parallel()
		p := planned(t, lab(t, false, map[string]int{"x": 4, "y": 4}, phaseSpec{name: "a", lr: "1", gpus: 1}, phaseSpec{name: "b", seeds: seeds, lr: "1", gpus: 1, input: "a"}))
		got := shares(p, "b")
		if got["x"] < 10 || got["y"] < 10 {
			t.Errorf("shares %v", got)
		}
		if len(p.Transfers) != 1 || p.Transfers[0].Files != 1 {
			t.Fatalf("one file goes to the other host, once: %+v", p.Transfers)
		}
		if from, to := p.Transfers[0].Ends(); from != "ssh.lab/x" || to != "ssh.lab/y" {
			t.Errorf("%s → %s", from, to)
		}
	})
	t.Run("one filesystem", func(t *testing.T) {
		t.Parallel()
		p := planned(t, lab(t, true, map[string]int{"x": 4, "y": 4}, chain...))
		if d := cmp.Diff(map[string]int{"x": 12, "y": 12}, shares(p, "b")); d != "" || len(p.Transfers) > 0 {
			t.Errorf("%s%+v", d, p.Transfers)
		}
	})
	t.Run("a list of all", func(t *testing.T) {
		t.Parallel()
		p := planned(t, lab(t, false, map[string]int{"x": 8, "y": 4}, chain[0], phaseSpec{name: "b", lr: "1", gpus: 1, input: "a", all: true}))
		if d := cmp.Diff(map[string]int{"x": 1}, shares(p, "b")); d != "" {
			t.Errorf("it goes where most of it lies: %s", d)
		}
		if len(p.Transfers) != 1 || p.Transfers[0].Files != 8 {
			t.Errorf("%+v", p.Transfers)
		}
	})
	t.Run("made before", func(t *testing.T) {
		t.Parallel()
		in := lab(t, false, map[string]int{"x": 4, "y": 4}, chain...)
		in.State = applied(t, in.Campaign, state.Completed)
		only(in.State, "a")
		for _, job := range in.State.Jobs {
			job.Outputs[0].Backend = "ssh.lab"
			job.Attempts[0].Backend, job.Attempts[0].Pool = "ssh.lab", "y"
			job.Outputs[0].Copies = nil
		}
		first := in.State.Jobs[in.Campaign.Phases[0].Address(0)]
		first.Outputs[0].Copies = []state.Copy{{Backend: "ssh.lab/x"}}
		p := planned(t, in)
		if n := shares(p, "b")["y"]; n < 12 {
			t.Errorf("%d of 24 run where their files lie", n)
		}
		for _, x := range p.Transfers {
			if x.FromHost != "y" || x.ToHost != "x" || slices.Contains(x.Cells, 0) {
				t.Errorf("%+v", x)
			}
		}
	})
}

// TestSlowHostsGetLess: by how long jobs of the phase took on each.
func TestSlowHostsGetLess(t *testing.T) {
	// Requirement: WAV-06
	t.Parallel()
	seeds := make([]int, 60)
	for i := range seeds {
		seeds[i] = i
	}
	in := lab(t, false, map[string]int{"x": 4, "y": 4}, phaseSpec{name: "p", seeds: seeds, lr: "1", gpus: 1, wall: "4h"})
	in.State = applied(t, in.Campaign, state.Completed)
	for i := range seeds {
		address := in.Campaign.Phases[0].Address(i)
		if i >= 12 {
			delete(in.State.Jobs, address)
			continue
		}
		at := &in.State.Jobs[address].Attempts[0]
		at.Backend, at.Pool, at.Usage, at.Ended = "ssh.lab", "x", &state.Usage{Elapsed: 1800}, in.Now
		if i%2 == 1 {
			at.Pool, at.Usage = "y", &state.Usage{Elapsed: 3600}
		}
	}
	got := shares(planned(t, in), "p")
	if d := cmp.Diff(map[string]int{"x": 32, "y": 16, "": 12}, got); d != "" {
		t.Errorf("twice as fast, and so twice as many: %s", d)
	}
}

// TestLongJobsAreSpreadFirst: with evidence that runtimes follow an axis, the
// hosts end together.
func TestLongJobsAreSpreadFirst(t *testing.T) {
	t.Parallel()
	seeds := make([]int, 40)
	for i := range seeds {
		seeds[i] = i + 1
	}
	in := lab(t, false, map[string]int{"x": 1, "y": 1}, phaseSpec{name: "p", seeds: seeds, lr: "1", gpus: 1, wall: "100h", sizes: true})
	in.State = applied(t, in.Campaign, state.Completed)
	long := func(i int) time.Duration { return time.Duration(seeds[i]) * time.Hour }
	for i := range seeds {
		address := in.Campaign.Phases[0].Address(i)
		if i%2 == 1 {
			delete(in.State.Jobs, address)
			continue
		}
		in.State.Jobs[address].Attempts[0].Usage = &state.Usage{Elapsed: long(i).Seconds()}
		in.State.Jobs[address].Attempts[0].Ended = in.Now
	}
	p := planned(t, in)
	busy := map[string]time.Duration{}
	for i, k := range p.Phases[0].Kind {
		if k.Starts() {
			busy[p.Phases[0].Decision(i).Pool] += long(i)
		}
	}
	if apart := (busy["x"] - busy["y"]).Abs(); apart > 5*time.Hour {
		t.Errorf("the hosts end %s apart: %v", apart, busy)
	}
}
