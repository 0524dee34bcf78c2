package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// phaseOf is a queue that starts nothing, and which counts how jobs of a phase end. again
// loads it once more, as after a crash.
type phaseOf struct {
	t      *testing.T
	dir    string
	q      *queue
	place  *place
	policy providers.Breaker
	jobs   map[string]*job
}

func newPhase(t *testing.T, policy providers.Breaker) *phaseOf {
	p := &phaseOf{t: t, dir: t.TempDir(), policy: policy, jobs: map[string]*job{}}
	p.again()
	return p
}

func (p *phaseOf) again() {
	p.t.Helper()
	if p.q != nil {
		if err := p.q.journal.Sync(); err != nil {
			p.t.Fatal(err)
		}
	}
	q, err := load(p.dir, gpu.None{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.q, p.place = q, q.at(machine.Tenant{Lineage: "l", Backend: "local.local"})
	for name, old := range p.jobs {
		p.jobs[name] = &job{spec: old.spec, place: p.place, jobState: old.jobState}
	}
}

// ends has a job end: "." is well, "P" preempted, "S" a smoke that failed, other
// letters are signatures.
func (p *phaseOf) ends(name string, how rune, class string, exit *int, again bool) {
	j := p.jobs[name]
	if j == nil {
		j = &job{spec: providers.Job{Token: name, Phase: "x", Breaker: p.policy}, place: p.place}
		p.jobs[name] = j
	}
	j.Obs = &offer.Observation{Exit: exit}
	v := failure.Verdict{Class: class, Signature: string(how), Line: "no " + string(how)}
	switch how {
	case '.':
		v = failure.Verdict{}
	case 'P':
		v.Class = failure.Preempted
	case 'S':
		j.spec.Smoke = true
	}
	if again {
		p.q.attempts.breakers.countAgain(j, v)
	} else {
		p.q.attempts.breakers.count(j, v)
	}
}

// said are the notes of a kind.
func (p *phaseOf) said(kind string) (list []string) {
	for _, e := range p.place.events {
		if e.note != nil && e.note.Kind == kind {
			list = append(list, e.note.Text)
		}
	}
	return list
}

// TestBreakerNoteOfAClosedBreaker: a watch that comes after the resume does not hear of the
// breaker, or it would open it again.
func TestBreakerNoteOfAClosedBreaker(t *testing.T) {
	t.Parallel()
	p := newPhase(t, providers.Breaker{SameError: 3})
	heard := func() (n int) {
		p.again()
		for _, note := range p.q.events.after(wire.Watch{Place: machine.Tenant{Lineage: "l", Backend: "local.local"}}).Notes {
			if note.Kind == "breaker" {
				n++
			}
		}
		return n
	}
	for i := range 3 {
		p.ends(fmt.Sprint("job", i), 'a', "nan", nil, false)
	}
	if n := heard(); n != 1 {
		t.Fatalf("a watch before the resume hears of %d breakers, want 1", n)
	}
	p.q.requests.breakers.closeBreaker(p.place, "x")
	if n := heard(); n != 0 {
		t.Errorf("a watch after the resume hears of %d breakers, want none", n)
	}
	for i := range 3 {
		p.ends(fmt.Sprint("more", i), 'a', "nan", nil, false)
	}
	if n := heard(); n == 0 {
		t.Error("a watch does not hear of the breaker that opened after the resume")
	}
}

// TestBreakerOfASetting: of the settings of a trial, the one whose jobs fail alike stops alone, and
// stays so after a crash.
func TestBreakerOfASetting(t *testing.T) {
	t.Parallel()
	bad, good := `phase.x["m=1,*"]`, `phase.x["m=2,*"]`
	p := newPhase(t, providers.Breaker{SameError: 3, Of: bad})
	for i := range 3 {
		p.ends(fmt.Sprint("job", i), 'a', "nan", nil, false)
	}
	p.again()
	for of, starts := range map[string]bool{bad: false, good: true, "": true} {
		p.place.enqueue(&job{spec: providers.Job{Token: "next" + of, Phase: "x", Breaker: providers.Breaker{SameError: 3, Of: of}}, place: p.place})
		l := p.place.queues[len(p.place.queues)-1]
		if why := p.q.scheduler.mayStart(p.place, l); (why == "") != starts {
			t.Errorf("a job of %q: %q", of, why)
		}
	}
}

// The rule is that of planner/apply/retry and of slurm/node, whose tests have
// the same table; and it is the same for a queue that crashes between any two
// jobs.
func TestBreakerCountsJobs(t *testing.T) {
	t.Parallel()
	missing := 127
	policy := providers.Breaker{SameError: 3, Share: 0.15}
	for name, c := range map[string]struct {
		policy providers.Breaker
		jobs   string
		exit   *int
		why    string // "" = nothing is stopped
	}{
		"the same error three times in a row":      {policy, "..aaa", nil, "stopped: the same error 3 times in a row: no a"},
		"a success in between":                     {policy, "aa.aa", nil, ""},
		"different errors":                         {policy, "ababab", nil, ""},
		"off":                                      {providers.Breaker{}, strings.Repeat("a", 30), &missing, ""},
		"preempted, one and all":                   {policy, strings.Repeat("P", 30), nil, ""},
		"a preemption in between":                  {policy, "aaPa", nil, "stopped: the same error 3 times in a row: no a"},
		"smokes":                                   {policy, "SSSS", &missing, ""},
		"a program that is not there":              {policy, "aa", &missing, "all jobs crash with the same error: no a"},
		"a program that is there for some":         {policy, ".aa", &missing, ""},
		"a program that is not there, and another": {policy, "ab", &missing, ""},
		"a program that is not there, by share":    {providers.Breaker{Share: 0.15}, "aa", &missing, ""},
		"one in ten, which the engine warns of":    {policy, "a.........b.........", nil, ""},
		"the twentieth is a success":               {policy, "a..b....c....d......", nil, "4 of 20 finished jobs failed with nan"},
		"nineteen are too few":                     {policy, "a..b....c....d.....", nil, ""},
		"off, and the twentieth a success":         {providers.Breaker{SameError: 3}, "a..b....c....d......", nil, ""},
		"one in ten, twenty finished":              {policy, "a.........b........b", nil, "3 of 20 finished jobs failed with nan"},
		"two of twenty, at the end":                {policy, "a..................b", nil, ""},
		"a share alone":                            {providers.Breaker{Share: 0.15}, strings.Repeat("a", 20), nil, "20 of 20 finished jobs failed with nan"},
	} {
		for _, crashes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/crashes=%v", name, crashes), func(t *testing.T) {
				t.Parallel()
				p := newPhase(t, c.policy)
				for i, how := range c.jobs {
					if b := p.place.breakers["x"]; b != nil && b.Open {
						t.Fatalf("open before job %d: %q", i, p.said("breaker"))
					}
					p.ends(fmt.Sprint("job", i), how, "nan", c.exit, false)
					if crashes {
						p.again()
					}
				}
				told := p.said("breaker")
				if (c.why != "") != (len(told) == 1) || c.why != "" && !strings.HasSuffix(told[0], c.why) {
					t.Errorf("stopped with %q", told)
				}
				if b := p.place.breakers["x"]; (b != nil && b.Open) != (c.why != "") {
					t.Errorf("breaker %+v", b)
				}
			})
		}
	}
}

// A step is a job and how a launch of it ended: "." well, "a" or "b" as errors
// after which it starts again, "A" for good, "R" as a resume.
func TestBreakerLaunchedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class string
		steps string
		trip  bool
	}{
		"flaky side by side":             {"nan", "1a 2a 3a 4a 1a 2a 3a 4a", false},
		"one that only fails":            {"nan", "1a 2a 1a 2a 1a", true},
		"a success of another between":   {"nan", "1a 1a 2. 1a 1a", false},
		"another error between":          {"nan", "1a 1a 1b 1a", false},
		"a resume between":               {"nan", "1a 1a 0R 1a 1a", false},
		"two that gave up":               {"nan", "1a 1a 1A 2a 2a 2A", false},
		"three that gave up":             {"nan", "1a 2a 3a 1A 2A 3A", true},
		"node after node":                {failure.NodeFailure, "1a 1a 1a 1a", false},
		"walltime, the checkpoint moves": {failure.Walltime, "1a 1a 1a 1a", false},
	} {
		for _, crashes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/crashes=%v", name, crashes), func(t *testing.T) {
				t.Parallel()
				p := newPhase(t, providers.Breaker{SameError: 3})
				for step := range strings.FieldsSeq(c.steps) {
					name, how := step[:1], rune(step[1])
					switch how {
					case 'R':
						p.q.requests.breakers.closeBreaker(p.place, "x")
					case 'A':
						p.ends(name, 'a', c.class, nil, false)
					default:
						p.ends(name, how, c.class, nil, how != '.')
					}
					if crashes {
						p.again()
					}
				}
				if told := p.said("breaker"); (len(told) == 1) != c.trip || len(told) > 1 {
					t.Errorf("stopped with %q", told)
				}
			})
		}
	}
}
