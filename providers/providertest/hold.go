package providertest

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var canHold = needs("holds", func(c offer.Capabilities) bool { return c.Holds })

var holdTests = []test{
	{name: "a queued job that is held waits until it is let go", needs: canHold, run: func(s *site) {
		held, other := s.once(), s.once()
		s.hold(true)
		s.submit(held, other)
		s.hold(true, held)
		s.hold(true, held) // again is no error
		s.hold(false)      // lets the campaign go, and not the job
		s.wantStatus(s.end(other)[0], offer.Completed)
		s.wantHeld(held)
		s.hold(false, held)
		s.wantStatus(s.end(held)[0], offer.Completed)
	}},
	{name: "a held job is cancelled and never runs", needs: canHold, run: func(s *site) {
		j, other := s.once(), s.once()
		s.hold(true)
		s.submit(j, other)
		s.hold(true, j)
		s.wantWhat(s.cancel(j.Token), "cancelled")
		s.hold(false)
		s.hold(false, j)
		s.wantStatus(s.end(other)[0], offer.Completed)
		s.wantStatus(s.end(j)[0], offer.Cancelled)
		if n := s.ran(j); n != 0 {
			s.Errorf("a cancelled job ran %d times", n)
		}
	}},
	{name: "a hold leaves the running, the ended and the unknown alone", needs: canHold, run: func(s *site) {
		busy, done := s.shell("echo begun; sleep 0.5; echo done"), s.once()
		s.run(done)
		s.submit(busy)
		s.running(busy)
		s.hold(true, busy, done, s.once())
		s.wantStatus(s.end(busy)[0], offer.Completed)
		s.wantStatus(s.find(done.Token)[0], offer.Completed)
	}},
	{name: "a stale fence neither holds nor lets go", needs: canHold, run: func(s *site) {
		s.fence = 7
		held, other := s.once(), s.once()
		s.hold(true)
		s.submit(held, other)
		s.hold(true, held)
		for _, r := range []struct {
			on bool
			j  providers.Job
		}{{false, held}, {true, other}} {
			err := s.p.Control(s.ctx, providers.ControlRequest{Backend: s.b.Name, Fence: 6, Hold: &r.on, Tokens: []string{r.j.Token}})
			s.wantClass("Control", err, providers.StaleFence)
		}
		s.hold(false)
		s.wantStatus(s.end(other)[0], offer.Completed)
		s.wantHeld(held)
	}},
	{name: "a killed provider still holds", needs: both(canHold, needsRestart), run: func(s *site) {
		held, other := s.once(), s.once()
		s.hold(true)
		s.submit(held, other)
		s.hold(true, held)
		s.restart()
		s.hold(false)
		s.wantStatus(s.end(other)[0], offer.Completed)
		s.wantHeld(held)
		s.hold(false, held)
		s.wantStatus(s.end(held)[0], offer.Completed)
		if n := s.ran(held); n != 1 {
			s.Errorf("the job ran %d times", n)
		}
	}},
}

// hold holds or lets go jobs; the whole campaign if none is named.
func (s *site) hold(on bool, jobs ...providers.Job) {
	s.Helper()
	r := providers.ControlRequest{Backend: s.b.Name, Fence: s.fence, Holder: s.holder, Hold: &on}
	for _, j := range jobs {
		r.Tokens = append(r.Tokens, j.Token)
	}
	s.must(s.p.Control(s.ctx, r))
}

// wantHeld wants a job that is queued, says that it is held, and has not run.
func (s *site) wantHeld(j providers.Job) {
	s.Helper()
	o := s.find(j.Token)[0]
	if o.Presence != offer.Found || o.Status != offer.Queued || o.Cause != offer.JobHeld || o.Reason == "" {
		s.Errorf("a job that is held is %+v", o)
	}
	if n := s.ran(j); n != 0 {
		s.Errorf("a job that is held ran %d times", n)
	}
}

func both(a, b func(*site) string) func(*site) string {
	return func(s *site) string {
		if missing := a(s); missing != "" {
			return missing
		}
		return b(s)
	}
}
