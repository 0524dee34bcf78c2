package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// TestBreakerCountsJobs: a step is a job and how a start of it ended: "." well,
// "a" or "b" as errors after which it starts again, "A" for good.
func TestBreakerCountsJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class string
		grows bool
		steps string
		stops bool // at the last step, and none before
	}{
		"flaky side by side":             {"unknown", false, "1a 2a 3a 4a 1a 2a 3a 4a", false},
		"one that only fails":            {"unknown", false, "1a 2a 1a 2a 1a", true},
		"a success of another between":   {"unknown", false, "1a 1a 2. 1a 1a", false},
		"another error between":          {"unknown", false, "1a 1a 1b 1a", false},
		"two that gave up":               {"unknown", false, "1a 1a 1A 2a 2a 2A", false},
		"three that gave up":             {"unknown", false, "1a 2a 3a 1A 2A 3A", true},
		"preempted, one and all":         {failure.Preempted, false, "1A 2A 3A 4A", false},
		"preempted again and again":      {failure.Preempted, false, "1a 1a 1a 1a", false},
		"node after node":                {failure.NodeFailure, false, "1a 1a 1a 1a", false},
		"walltime, the checkpoint moves": {failure.Walltime, false, "1a 1a 1a 1a", false},
		"each time with more memory":     {failure.OOMHost, true, "1a 1a 1a 1a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpool(t)
			restarts := map[string]int{}
			steps := strings.Fields(c.steps)
			for i, step := range steps {
				name, how := step[:1], step[1:]
				begin := Begin{Token: "token" + name, ID: name, Restart: restarts[name]}
				restarts[name]++
				job := &providers.Job{Token: begin.Token, Address: "phase.x[" + name + "]", Phase: "x", Breaker: providers.Breaker{SameError: 3}}
				e, v := End{Begin: begin, Final: true}, failure.Verdict{}
				again := false
				switch e.Seen.Status = offer.Failed; how {
				case ".":
					e.Seen.Status = offer.Completed
				default:
					v = failure.Verdict{Class: c.class, Signature: strings.ToLower(how), Line: "no licence"}
					if again = how != "A"; again {
						e.Final, e.Seen.Status = false, offer.Waiting
					}
					if c.grows {
						e.Growth = &Growth{Memory: 1 << 30}
					}
				}
				if stopped := s.Count(job, Failure{e, v, again, false}) != ""; stopped != (c.stops && i == len(steps)-1) {
					t.Errorf("step %d, %s: stopped is %v", i, step, stopped)
				}
			}
			why := s.Stopped("x")
			if (why != "") != c.stops || c.stops && why != fmt.Sprintf("the same error %d times in a row: no licence", 3) {
				t.Errorf("stopped with %q", why)
			}
		})
	}
}

// TestBreakerOfASetting: of the settings of a trial, the one whose jobs fail alike stops alone.
func TestBreakerOfASetting(t *testing.T) {
	t.Parallel()
	s := newSpool(t)
	bad, good := `phase.x["m=1/2,*"]`, `phase.x["m=2,*"]`
	count := func(of, token string, v failure.Verdict) string {
		e := End{Begin: Begin{Token: token, ID: token}, Final: true, Seen: offer.Observation{Status: offer.Failed}}
		return s.Count(&providers.Job{Token: token, Address: "phase.x[" + token + "]", Phase: "x", Breaker: providers.Breaker{SameError: 3, Of: of}}, Failure{End: e, Verdict: v})
	}
	v := failure.Verdict{Class: "unknown", Signature: "a", Line: "no licence"}
	for _, step := range []struct {
		of, token string
		stops     bool
	}{{bad, "1", false}, {good, "2", false}, {bad, "3", false}, {good, "4", false}, {bad, "5", true}} {
		if why := count(step.of, step.token, v); (why != "") != step.stops {
			t.Errorf("after job %s of %s: stopped with %q", step.token, step.of, why)
		}
	}
	if s.Stopped(bad) == "" || s.Stopped(good) != "" || s.Stopped("x") != "" {
		t.Errorf("stopped: the setting %q, the other %q, the phase %q", s.Stopped(bad), s.Stopped(good), s.Stopped("x"))
	}
	if err := s.Forget(bad); err != nil {
		t.Fatal(err)
	}
	if why := count(bad, "6", v) + count(good, "7", failure.Verdict{Class: "unknown", Signature: "b"}); why != "" {
		t.Errorf("after it is forgotten, one failure stops it: %q", why)
	}
}

// TestBreakerCountsCauses: of jobs that end once, "." does well, "P" is
// preempted for good, and other letters are errors; each has a class of its
// own but "a" and "A".
func TestBreakerCountsCauses(t *testing.T) {
	t.Parallel()
	missing := 127
	policy := providers.Breaker{SameError: 3, Share: 0.15}
	of40 := providers.Breaker{SameError: 3, Share: 0.15, Jobs: 40}
	for name, c := range map[string]struct {
		policy providers.Breaker
		jobs   string
		exit   *int
		why    string // "" = nothing is stopped
	}{
		"one in ten, twenty finished":              {policy, "a.........A........a", nil, "3 of 20 finished jobs failed with a"},
		"the twentieth does well":                  {policy, "a..A....a....A......", nil, "4 of 20 finished jobs failed with a"},
		"nineteen are too few":                     {policy, "a..A....a....A.....", nil, ""},
		"of several causes none has that share":    {policy, "a..b....c....d......", nil, ""},
		"two of twenty, at the end":                {policy, "a..................A", nil, ""},
		"a share that comes late":                  {policy, strings.Repeat(".", 60) + strings.Repeat("aA.", 5) + "aA", nil, "12 of 77 finished jobs failed with a"},
		"no share, and the same error":             {providers.Breaker{SameError: 3}, "a..A....a....A.......aaa", nil, "the same error 3 times in a row: no a"},
		"a share alone":                            {providers.Breaker{Share: 0.15}, "aaaaaaaaaaaaaaaaaaaa", nil, "20 of 20 finished jobs failed with a"},
		"neither":                                  {providers.Breaker{}, "aaaaaaaaaaaaaaaaaaaaaaaa", &missing, ""},
		"preempted, one and all":                   {policy, "PPPPPPPPPPPPPPPPPPPPPPPP", nil, ""},
		"nodes that fail, one and all":             {policy, "NNNNNNNNNNNNNNNNNNNNNNNN", nil, ""},
		"a corner that runs out of memory":         {of40, "MMM.....................", nil, ""},
		"more than a corner":                       {of40, "MMMMMM..............", nil, "6 of 20 finished jobs failed with oom_gpu"},
		"memory between other errors":              {policy, "aMaMa", nil, "the same error 3 times in a row: no a"},
		"memory, one and all":                      {of40, "MMMMMMMMMMMMMMMMMMMM", nil, "20 of 20 finished jobs failed with oom_gpu"},
		"a program that is not there":              {policy, "aa", &missing, "all jobs crash with the same error: no a"},
		"a program that is there for some":         {policy, ".aa", &missing, ""},
		"a program that is not there, and another": {policy, "ab", &missing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpool(t)
			for i, how := range c.jobs {
				if why := s.Stopped("x"); why != "" {
					t.Fatalf("job %d: stopped before with %q", i, why)
				}
				begin := Begin{Token: fmt.Sprint("token", i), ID: fmt.Sprint(i)}
				job := &providers.Job{Token: begin.Token, Address: fmt.Sprint("phase.x[", i, "]"), Phase: "x", Breaker: c.policy}
				e, v := End{Begin: begin, Final: true}, failure.Verdict{}
				if e.Seen.Status = offer.Completed; how != '.' {
					e.Seen.Status, e.Seen.Exit = offer.Failed, c.exit
					v = failure.Verdict{Class: strings.ToLower(string(how)), Signature: string(how), Line: "no " + string(how)}
				}
				switch how {
				case 'P':
					v.Class = failure.Preempted
				case 'N':
					v.Class = failure.NodeFailure
				case 'M':
					v.Class = failure.OOMGPU
				}
				s.Count(job, Failure{e, v, false, false})
			}
			if why := s.Stopped("x"); why != c.why {
				t.Errorf("stopped with %q, and not %q", why, c.why)
			}
			if err := s.Forget("x"); err != nil {
				t.Error(err)
			}
			if n := files(s.path("errors"), -1); n != 0 {
				t.Errorf("%d tallies are left of one phase that is forgotten", n)
			}
		})
	}
}
