package providertest

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var cancelTests = []test{
	{name: "a running job is cancelled with all its children", run: func(s *site) {
		j := s.shell("echo begun; (while :; do echo beat >> beat; sleep 0.02; done) & wait")
		s.submit(j)
		s.running(j)
		s.wantWhat(s.cancel(j.Token), "cancelled")
		s.wantStatus(s.end(j)[0], offer.Cancelled)
		s.wantSilence("beat")
	}},
	{name: "a job that does not listen is killed after the grace", run: func(s *site) {
		j := s.shell("trap '' TERM; echo begun; touch deaf; while :; do sleep 0.02; done")
		s.submit(j)
		s.until("the job to be deaf", func() bool { return s.exists("deaf") })
		s.wantWhat(s.cancel(j.Token), "cancelled")
		s.wantStatus(s.end(j)[0], offer.Cancelled)
	}},
	{name: "a job that waits is cancelled and never runs", run: func(s *site) {
		s.hold(true)
		j := s.once()
		s.submit(j)
		s.wantWhat(s.cancel(j.Token), "cancelled")
		s.hold(false)
		s.wantStatus(s.end(j)[0], offer.Cancelled)
		s.run(s.once())
		if n := s.ran(j); n != 0 {
			s.Errorf("a cancelled job ran %d times", n)
		}
	}},
	{name: "cancelling the finished says so and changes nothing", run: func(s *site) {
		j := s.once()
		s.run(j)
		s.wantWhat(s.cancel(j.Token), "ended already")
		s.wantStatus(s.find(j.Token)[0], offer.Completed)
	}},
	{name: "cancelling the unknown says so", run: func(s *site) {
		s.wantWhat(s.cancel(token()), "not found")
	}},
	{name: "cancelling twice is no error", run: func(s *site) {
		j := s.gated()
		s.submit(j)
		s.running(j)
		s.cancel(j.Token)
		s.cancel(j.Token)
		s.wantStatus(s.end(j)[0], offer.Cancelled)
		s.watch("nothing more", func() bool { return true })
		s.wantOneEnd([]providers.Job{j})
	}},
	{name: "outcomes come in the order of the tokens", run: func(s *site) {
		done, busy := s.once(), s.gated()
		s.run(done)
		s.submit(busy)
		s.running(busy)
		tokens := []string{token(), busy.Token, done.Token}
		out, err := s.p.Cancel(s.ctx, providers.CancelRequest{Backend: s.b.Name, Fence: s.fence, Tokens: tokens, Grace: 100 * time.Millisecond})
		s.must(err)
		for i, want := range []string{"not found", "cancelled", "ended already"} {
			if out[i].ID != tokens[i] || out[i].What != want {
				s.Errorf("outcome %d is %+v, want %s", i, out[i], want)
			}
		}
	}},
}

func (s *site) cancel(tok string) providers.Outcome {
	s.Helper()
	out, err := s.p.Cancel(s.ctx, providers.CancelRequest{Backend: s.b.Name, Fence: s.fence, Tokens: []string{tok}, Grace: 100 * time.Millisecond})
	s.must(err)
	if len(out) != 1 || out[0].ID != tok || out[0].Err != nil {
		s.Fatalf("outcomes are %+v", out)
	}
	return out[0]
}

func (s *site) wantWhat(o providers.Outcome, want string) {
	s.Helper()
	if o.What != want {
		s.Errorf("the outcome is %q, want %q", o.What, want)
	}
}
