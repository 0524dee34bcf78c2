package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestMusterOff: one sentence with a subject, which names a backend once, and
// none where there is nothing to say.
func TestMusterOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phases []phaseSpec
		want   string
	}{
		"nothing fits":         {[]phaseSpec{{name: "a", lr: "1", gpus: 3}}, ""},
		"one of two fits":      {[]phaseSpec{{name: "a", lr: "1", gpus: 3}, {name: "b", lr: "1"}}, "If you close muster now, phase.b finishes; everything else waits for your next `muster apply` (jobs that have no place yet)."},
		"all of it":            {[]phaseSpec{{name: "a", lr: "1"}, {name: "b", lr: "1"}}, "If you close muster now, local.local finishes everything."},
		"a smoke":              {[]phaseSpec{{name: "a", lr: "1", smoke: true}}, "If you close muster now, submitted jobs finish; after `apply -detach`, local.local finishes everything."},
		"an expectation":       {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}}, "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
		"a smoke and a phase":  {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}, {name: "b", lr: "1"}}, "If you close muster now, the smoke and phase.b finish; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
		"smokes of two phases": {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}, {name: "b", lr: "1", smoke: true, mod: expects}}, "If you close muster now, the two smokes finish; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
		"a repeat":             {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: func(p *lang.Phase) { p.Smoke.Repeat = 2 }}}, "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a smoke that muster launches again after it passed)."},
		"a canary":             {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: func(p *lang.Phase) { p.Smoke.Canary = &lang.Canary{} }}}, "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a smoke that muster launches again after it passed)."},
		"a throughput":         {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: func(p *lang.Phase) { p.Smoke.MinThroughput = 0.5 }}}, "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(load(t, nil, c.phases...), nil)
			in.Can = map[string]offer.Capabilities{"local": {Dependencies: true}}
			p, _ := Make(in)
			if got := offOf(p.Notes); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestMusterOffOfRentals: a job that has no machine yet waits for muster, which rents it.
func TestMusterOffOfRentals(t *testing.T) {
	t.Parallel()
	in := input(load(t, nil, phaseSpec{name: "a", lr: "1"}), nil)
	in.Can = map[string]offer.Capabilities{"local": {Rents: true}}
	p, _ := Make(in)
	if got, want := offOf(p.Notes), "If you close muster now, jobs that have a machine by then finish; everything else waits for your next `muster apply` (backend.local.local rents machines only while muster runs)."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMusterOffOfAFullQueue: where a pool takes fewer jobs at a time than the plan
// starts there, the rest waits for muster.
func TestMusterOffOfAFullQueue(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{
		0: "If you close muster now, local.local finishes everything.",
		2: "If you close muster now, local.local finishes everything.",
		1: "If you close muster now, jobs submitted by then finish; everything else waits for your next `muster apply` (machine takes at most 1 job of yours at once, and this plan has 2).",
	} {
		in := input(load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1"}), nil)
		in.Can = map[string]offer.Capabilities{"local": {Dependencies: true}}
		in.Pools[0].MaxSubmit = most
		if p, _ := Make(in); offOf(p.Notes) != want {
			t.Errorf("%d: got  %s\nwant %s", most, offOf(p.Notes), want)
		}
	}
}

// TestMusterOffOfAFeed: a running apply keeps jobs back until others are done or a slot is free,
// and the plan promises no more than what it submits by then.
func TestMusterOffOfAFeed(t *testing.T) {
	t.Parallel()
	const all, later = "If you close muster now, local.local finishes everything.", "If you close muster now, submitted jobs finish; after `apply -detach`, local.local finishes everything."
	after := func(p *lang.Phase) { p.DependsOn = []string{"a"} }
	for name, c := range map[string]struct {
		phases []phaseSpec
		feed   int
		want   string
	}{
		"as many as are fed":   {[]phaseSpec{{name: "a", lr: "1", seeds: []int{1, 2}}}, 1, all},
		"more than are fed":    {[]phaseSpec{{name: "a", lr: "1", seeds: []int{1, 2, 3}}}, 1, later},
		"none is kept back":    {[]phaseSpec{{name: "a", lr: "1", seeds: []int{1, 2, 3}}}, 0, all},
		"one reads another's":  {[]phaseSpec{{name: "a", lr: "1"}, {name: "b", lr: "1", input: "a"}}, 0, later},
		"one is after another": {[]phaseSpec{{name: "a", lr: "1"}, {name: "b", lr: "1", mod: after}}, 0, later},
		"a pilot":              {[]phaseSpec{{name: "a", lr: "1", seeds: []int{1, 2}, mod: func(p *lang.Phase) { p.Pilot = []int{0} }}}, 0, later},
		"pilots alone":         {[]phaseSpec{{name: "a", lr: "1", mod: func(p *lang.Phase) { p.Pilot = []int{0} }}}, 0, all},
		"the smoke reads": {[]phaseSpec{{name: "a", lr: "1"}, {name: "b", lr: "1", input: "a", smoke: true, mod: expects}}, 0,
			"If you close muster now, submitted jobs finish; after `apply -detach`, the smoke and phase.a finish; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(load(t, nil, c.phases...), nil)
			in.Can = map[string]offer.Capabilities{"local": {Dependencies: true, FeedSlots: c.feed}}
			in.Pools[0].MaxJobs = 2
			if p, _ := Make(in); offOf(p.Notes) != c.want {
				t.Errorf("got  %s\nwant %s", offOf(p.Notes), c.want)
			}
		})
	}
}

// TestMusterOffOfAQoS: the jobs' own limit counts in place of their pool's.
func TestMusterOffOfAQoS(t *testing.T) {
	t.Parallel()
	for own, want := range map[int]string{
		0:             "If you close muster now, jobs submitted by then finish; everything else waits for your next `muster apply` (machine takes at most 2 jobs of yours at once by the limit of qos normal, and this plan has 3).",
		1:             "If you close muster now, jobs submitted by then finish; everything else waits for your next `muster apply` (machine takes at most 1 job of yours at once by the limit of qos small, and this plan has 3).",
		offer.NoLimit: "If you close muster now, local.local finishes everything.",
	} {
		in := input(load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1"}), nil)
		in.Can = map[string]offer.Capabilities{"local": {Dependencies: true}}
		in.Pools[0].MaxSubmit, in.Pools[0].SubmitBy = 2, "qos normal"
		first, _ := Make(in)
		in.Quotes = []place.Quoted{{Shape: first.Phases[0].Decision(0).Shape, Quote: offer.Quote{Backend: "local.local", Fits: true, Wait: -1, MaxSubmit: own, SubmitBy: "qos small"}}}
		if p, _ := Make(in); offOf(p.Notes) != want {
			t.Errorf("%d: got  %s\nwant %s", own, offOf(p.Notes), want)
		}
	}
}

// TestMusterOffOfWhatIsThere: jobs and smokes that a backend has already count as those
// that the plan starts.
func TestMusterOffOfWhatIsThere(t *testing.T) {
	t.Parallel()
	const all = "If you close muster now, submitted jobs finish; after `apply -detach`, local.local finishes everything."
	for name, c := range map[string]struct {
		mod       func(*lang.Phase)
		can       offer.Capabilities
		elsewhere bool // what is there is on another backend
		cap       int  // of the campaign
		smoke     bool // what is there is the smoke of a; else phase a
		want      string
	}{
		"a smoke":                        {smoke: true, can: offer.Capabilities{Dependencies: true}, want: all},
		"a smoke that nothing follows":   {smoke: true, want: "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a gate)."},
		"a smoke that muster judges":     {smoke: true, mod: expects, can: offer.Capabilities{Dependencies: true}, want: "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a smoke whose expect muster checks)."},
		"a smoke elsewhere":              {smoke: true, elsewhere: true, can: offer.Capabilities{Dependencies: true}, want: "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a gate)."},
		"producers":                      {can: offer.Capabilities{Dependencies: true}, want: all},
		"producers that nothing follows": {want: "If you close muster now, phase.a finishes; everything else waits for your next `muster apply` (backend.local.local does not order jobs by itself)."},
		"producers elsewhere":            {elsewhere: true, can: offer.Capabilities{Dependencies: true}, want: "If you close muster now, phase.a finishes; everything else waits for your next `muster apply` (files that move between backends)."},
		"a cap":                          {cap: 2, can: offer.Capabilities{Dependencies: true}, want: "If you close muster now, jobs submitted by then finish; everything else waits for your next `muster apply` (max_parallel = 2 of the campaign is reached)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			campaign := load(t, nil, phaseSpec{name: "a", lr: "1", smoke: c.smoke, seeds: []int{1, 2}, mod: c.mod}, phaseSpec{name: "b", lr: "1", input: "a", seeds: []int{1, 2}})
			campaign.MaxParallel = c.cap
			in := input(campaign, nil)
			in.State = applied(t, campaign, state.Queued)
			only(in.State, "a")
			if c.smoke {
				print := planned(t, input(campaign, nil)).Phases[0].Smoke.Prints[0].String()
				job := in.State.Jobs[`phase.a["seed=1"]`]
				job.Smoke, job.Result = true, print
				in.State.Jobs = map[string]*state.Job{state.SmokeAddress(job.Address): job}
			}
			in.Can = map[string]offer.Capabilities{"local": c.can}
			if c.elsewhere {
				in.Can["other"] = c.can
				for _, job := range in.State.Jobs {
					job.Attempts[0].Backend = "other.x"
				}
			}
			p, _ := Make(in)
			if got := offOf(p.Notes); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func expects(p *lang.Phase) { p.Smoke.Expect = make([]lang.Expect, 1) }

func offOf(notes []string) string {
	var off []string
	for _, n := range notes {
		if strings.HasPrefix(n, "If you close muster now") {
			off = append(off, n)
		}
	}
	return strings.Join(off, "\n")
}

// TestMusterOffInTurns: an allocation may end before all of its jobs have begun.
func TestMusterOffInTurns(t *testing.T) {
	t.Parallel()
	const all = "If you close muster now, local.local finishes everything."
	for allocation, want := range map[time.Duration]string{
		0:             all,
		time.Hour:     all, // one job in each
		4 * time.Hour: all + " Jobs of phase.a that do not begin in their allocation wait for your next `muster apply`.",
	} {
		in := input(load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1", wall: "1h", mod: func(p *lang.Phase) { p.Retry.Max = 1 }}), nil)
		in.Can = map[string]offer.Capabilities{"local": {Dependencies: true}}
		in.Pools[0].Kind, in.Pools[0].Allocation = offer.QueuePool, allocation
		if p, _ := Make(in); offOf(p.Notes) != want {
			t.Errorf("%s: got  %s\nwant %s", allocation, offOf(p.Notes), want)
		}
	}
}

// TestMusterOffRetries: the plan says which retries need muster: those that a backend does
// not make by itself, and those of jobs that share a node.
func TestMusterOffRetries(t *testing.T) {
	t.Parallel()
	const all = "If you close muster now, local.local finishes everything."
	for name, c := range map[string]struct {
		can  offer.Capabilities
		max  int
		pack bool
		want string
	}{
		"no retry":                  {offer.Capabilities{}, 1, false, all},
		"its own queue":             {offer.Capabilities{HostQueue: true}, 3, false, all},
		"a scheduler that retries":  {offer.Capabilities{Retries: true}, 3, false, all},
		"one that restarts":         {offer.Capabilities{Requeues: true}, 3, false, all + " Retries of phase.a wait for your next `muster apply`, but for jobs that the scheduler itself stops and starts again."},
		"one that does neither":     {offer.Capabilities{}, 3, false, all + " Retries of phase.a wait for your next `muster apply`."},
		"a shared node":             {offer.Capabilities{Retries: true}, 3, true, all + " Retries of phase.a wait for your next `muster apply`."},
		"a shared node, no retries": {offer.Capabilities{Retries: true}, 1, true, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1", mod: func(p *lang.Phase) { p.Retry.Max = c.max }}), nil)
			c.can.Dependencies = true
			in.Can = map[string]offer.Capabilities{"local": c.can}
			if c.pack {
				in.Pools[0].Kind, in.Pools[0].WholeNode, in.Pools[0].Pack, in.Pools[0].CPUs = offer.QueuePool, true, true, 64
			}
			p, _ := Make(in)
			if got := offOf(p.Notes); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
