package providertest

import (
	"context"
	"errors"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var watchTests = []test{
	{name: "a watch goes on from its cursor, nothing lost or doubled", run: func(s *site) {
		jobs := []providers.Job{s.once(), s.once(), s.once()}
		gate := s.gated()
		s.submit(append(jobs, gate)...)
		s.end(jobs...) // stops in the middle
		s.open()
		more := []providers.Job{s.once(), s.once()}
		s.submit(more...)
		all := append(append(jobs, gate), more...)
		s.end(all...)
		s.wantOneEnd(all)
	}},
	{name: "a watch that was cut off before its batch was taken tells it again", run: func(s *site) {
		j := s.once()
		s.submit(j)
		refuse := errors.New("no room")
		err := s.p.Watch(s.ctx, providers.WatchRequest{Backend: s.b.Name}, func(b providers.Batch) error {
			for _, o := range b.Events {
				if over(o) {
					return refuse
				}
			}
			return nil
		})
		if !errors.Is(err, refuse) {
			s.Fatalf("the watch ended with %v", err)
		}
		s.end(j) // from the beginning
		s.wantOneEnd([]providers.Job{j})
	}},
	{name: "a watch of handles tells of no others", run: func(s *site) {
		a, b := s.once(), s.once()
		handles := s.submit(a, b)
		err := s.p.Watch(s.ctx, providers.WatchRequest{Backend: s.b.Name, Handles: []string{handles[1].Handle}}, func(batch providers.Batch) error {
			for _, o := range batch.Events {
				if o.Token != b.Token {
					s.Errorf("reported %+v", o)
				}
				if over(o) {
					return errEnough
				}
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			s.Fatal(err)
		}
	}},
	{name: "a watch ends with its context", run: func(s *site) {
		ctx, stop := context.WithTimeout(s.ctx, 50*time.Millisecond)
		defer stop()
		err := s.p.Watch(ctx, providers.WatchRequest{Backend: s.b.Name}, func(providers.Batch) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("the watch ended with %v", err)
		}
	}},
	{name: "two backends of one provider do not see each other", run: func(s *site) {
		other := s.b
		other.Name, other.Lineage = s.b.Name+"2", token()
		s.must(s.p.Configure(s.ctx, other))
		j := s.once()
		s.run(j)
		ctx, stop := context.WithTimeout(s.ctx, 200*time.Millisecond)
		defer stop()
		_ = s.p.Watch(ctx, providers.WatchRequest{Backend: other.Name}, func(b providers.Batch) error {
			for _, o := range b.Events {
				s.Errorf("%s tells of %+v", other.Name, o)
			}
			return nil
		})
	}},
	{name: "a watch goes on after a kill, nothing lost or doubled", needs: needsRestart, run: func(s *site) {
		first, gate, second := s.once(), s.gated(), s.once()
		s.submit(first, gate)
		s.end(first)
		s.restart()
		s.submit(second)
		s.open()
		all := []providers.Job{first, gate, second}
		s.end(all...)
		s.wantOneEnd(all)
	}},
	{name: "a hold stops starts until it is lifted", run: func(s *site) {
		hold := true
		s.must(s.p.Control(s.ctx, providers.ControlRequest{Backend: s.b.Name, Fence: s.fence, Hold: &hold}))
		j := s.once()
		s.submit(j)
		time.Sleep(150 * time.Millisecond) // a start would have been seen; its absence cannot be waited for
		if o := s.find(j.Token)[0]; over(o) || o.Status == offer.Running || s.ran(j) != 0 {
			s.Errorf("a held job was started: %+v", o)
		}
		hold = false
		s.must(s.p.Control(s.ctx, providers.ControlRequest{Backend: s.b.Name, Fence: s.fence, Hold: &hold}))
		s.wantStatus(s.end(j)[0], offer.Completed)
	}},
}

func (s *site) wantOneEnd(jobs []providers.Job) {
	s.Helper()
	for _, j := range jobs {
		if n := s.ends[j.Token]; n != 1 {
			s.Errorf("the end of a job was told %d times", n)
		}
	}
}
