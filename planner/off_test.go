package planner

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
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
		"a smoke":              {[]phaseSpec{{name: "a", lr: "1", smoke: true}}, "If you close muster now, local.local finishes everything."},
		"an expectation":       {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}}, "If you close muster now, the smoke finishes; everything else waits for your next `muster apply` (a gate on expect)."},
		"a smoke and a phase":  {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}, {name: "b", lr: "1"}}, "If you close muster now, the smoke and phase.b finish; everything else waits for your next `muster apply` (a gate on expect)."},
		"smokes of two phases": {[]phaseSpec{{name: "a", lr: "1", smoke: true, mod: expects}, {name: "b", lr: "1", smoke: true, mod: expects}}, "If you close muster now, the two smokes finish; everything else waits for your next `muster apply` (a gate on expect)."},
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
	if got, want := offOf(p.Notes), "If you close muster now, what has a machine by then finishes; everything else waits for your next `muster apply` (backend.local.local rents machines only while muster runs)."; got != want {
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
		1: "If you close muster now, what is submitted by then finishes; everything else waits for your next `muster apply` (machine takes 1 job of yours at a time, of 2).",
	} {
		in := input(load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1"}), nil)
		in.Can = map[string]offer.Capabilities{"local": {Dependencies: true}}
		in.Pools[0].MaxSubmit = most
		if p, _ := Make(in); offOf(p.Notes) != want {
			t.Errorf("%d: got  %s\nwant %s", most, offOf(p.Notes), want)
		}
	}
}

// TestMusterOffOfAQoS: the jobs' own limit counts in place of their pool's.
func TestMusterOffOfAQoS(t *testing.T) {
	t.Parallel()
	for own, want := range map[int]string{
		0:             "If you close muster now, what is submitted by then finishes; everything else waits for your next `muster apply` (machine takes 2 jobs of yours at a time by the limit of qos normal, of 3).",
		1:             "If you close muster now, what is submitted by then finishes; everything else waits for your next `muster apply` (machine takes 1 job of yours at a time by the limit of qos small, of 3).",
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
