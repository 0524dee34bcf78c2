package apply

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const importing = `
phase "a" {
  grid { axes = { n = [1, 2] } }
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.txt" }
  }
}
import {
  to      = phase.a["n=1"]
  backend = backend.local.local
  id      = "1234567"
}`

// foreign is a job that somebody else started.
func (w *world) foreign(id string, o offer.Observation) {
	o.Token, o.Handle, o.Presence, o.Attempt = id, id, offer.Found, 1
	j := &fakeJob{Job: providers.Job{Token: id}, status: o.Status, launch: 1}
	if o.Status != offer.Running {
		j.seen = o
	} else {
		j.res.takes, j.began = 50*time.Millisecond, time.Now()
	}
	w.jobs[id] = j
	w.order = append(w.order, id)
}

func TestImportOfAFinishedJobIsVerified(t *testing.T) {
	t.Parallel()
	s := newStage(t, importing)
	s.world.foreign("1234567", offer.Observation{Status: offer.Completed, Started: time.Now().Add(-time.Hour), Ended: time.Now()})
	s.check(s.must(t.Context()), "end done=2 failed=0 held=0 blocked=0 left=0")
	j := s.state().Jobs[`phase.a["n=1"]`]
	if len(j.Attempts) != 1 || j.Last().Handle != "1234567" || len(j.Outputs) != 1 || j.Outputs[0].Digest != fakeDigest("a1.txt") || j.Result == "" {
		t.Errorf("record %s", text(j))
	}
	if n := s.world.runs[`phase.a["n=1"]`]; n != 0 {
		t.Errorf("it was launched %d times", n)
	}
	if c := s.counts(); c.Changes() {
		t.Errorf("the plan of an applied plan: %+v", c)
	}
}

func TestImportOfARunningJobIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t, importing)
	s.world.foreign("1234567", offer.Observation{Status: offer.Running})
	s.check(s.must(t.Context()), "end done=2 failed=0 held=0 blocked=0 left=0")
	if j := s.state().Jobs[`phase.a["n=1"]`]; j.Last().Handle != "1234567" || len(j.Outputs) != 1 {
		t.Errorf("record %s", text(j))
	}
}

func TestImportWhoseOutputsDoNotVerifyFails(t *testing.T) {
	// Requirement: PRE-04, PRE-05
	t.Parallel()
	s := newStage(t, importing)
	s.world.broken = map[string]bool{"a1.txt": true}
	s.world.foreign("1234567", offer.Observation{Status: offer.Completed, Started: time.Now().Add(-time.Hour), Ended: time.Now()})
	s.check(s.must(t.Context()), "end done=1 failed=1 held=0 blocked=0 left=0")
	if j := s.state().Jobs[`phase.a["n=1"]`]; j.Status != state.Failed || !strings.Contains(j.Reason, "output o: empty") {
		t.Errorf("record %s", text(j))
	}
}

func TestSecondJobOfATokenIsCancelled(t *testing.T) {
	t.Parallel()
	s := newStage(t, one)
	s.world.result = func(j providers.Job, _ int) jobResult { return jobResult{hang: true} }
	told := false
	s.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if sub, ok := ev.(state.Submitted); ok && !told {
				told = true
				go func() {
					s.world.mu.Lock()
					defer s.world.mu.Unlock()
					s.world.tell(offer.Observation{Token: sub.Token, Presence: offer.Found, Handle: sub.Handle, Status: offer.Running, Attempt: 1, Duplicate: "77"})
					s.world.tell(offer.Observation{Token: sub.Token, Presence: offer.Found, Handle: sub.Handle, Status: offer.Running, Attempt: 1, Duplicate: "77"})
				}()
				go s.world.until(func() bool {
					gone := len(s.world.ended) > 0
					s.world.jobs[sub.Token].res.hang = !gone
					return gone
				})
			}
		}
	}
	s.check(s.must(t.Context()), "end done=1 failed=0 held=0 blocked=0 left=0")
	if strings.Join(s.world.ended, " ") != "77" {
		t.Errorf("cancelled %v", s.world.ended)
	}
}

// TestImportCountsAtItsCeiling: what somebody else started is paid by the same
// budget, so that nothing starts beside it that both together would pass.
func TestImportCountsAtItsCeiling(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(importing, "    output", "    resources { walltime = \"1h\" }\n    output", 1)+`
budget "b" { limits = { usd = 3 } }`)
	s.world.price.USDPerHour = "2"
	s.world.foreign("1234567", offer.Observation{Status: offer.Running})
	s.must(t.Context())
	j := s.state().Jobs[`phase.a["n=1"]`]
	if j.Last().Ceiling["usd"] != "2" || j.Last().Rates["usd_per_hour"] != "2" || s.world.most != 1 {
		t.Errorf("%d ran at once beside %s", s.world.most, text(j))
	}
}
