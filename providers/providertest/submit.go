package providertest

import (
	"fmt"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var recalls = needs("recalls", func(c offer.Capabilities) bool { return c.Recalls })

var submitTests = []test{
	{name: "the jobs of a campaign are found without their tokens", needs: recalls, run: func(s *site) {
		a, b := s.shell("until test -e go; do sleep 0.05; done"), s.shell("until test -e go; do sleep 0.05; done")
		b.Attempt, b.ResultHash = 3, "1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014"
		s.submit(a, b)
		all, err := s.p.Find(s.ctx, s.b.Name, nil)
		s.must(err)
		found := map[string]*offer.JobRecord{}
		for _, o := range all {
			if o.Record == nil || o.Presence != offer.Found {
				s.Fatalf("a job of the campaign is %+v", o)
			}
			found[o.Token] = o.Record
		}
		for _, j := range []providers.Job{a, b} {
			r := found[j.Token]
			if r == nil || r.Address != j.Address || r.Result != j.ResultHash || r.First != max(j.Attempt, 1) || r.Smoke || r.Fence != s.fence {
				s.Errorf("the record of %s is %+v under fence %d", j.Address, r, s.fence)
			}
		}
		s.write("go", "")
		s.end(a, b)
	}},
	{name: "a job runs to its end", run: func(s *site) {
		j := s.shell("echo result > out.txt")
		j.Outputs = []providers.Output{path("out.txt")}
		o := s.run(j)
		s.wantStatus(o, offer.Completed)
		s.wantExit(o, 0)
		if o.Presence != offer.Found || o.Handle == "" || o.Ended.IsZero() || o.Attempt != 1 {
			s.Errorf("the observation of the end lacks something: %+v", o)
		}
		if len(o.Outputs) != 1 || !o.Outputs[0].OK || o.Outputs[0].Size != 7 || o.Outputs[0].Digest == "" {
			s.Errorf("outputs are %+v", o.Outputs)
		}
	}},
	{name: "results come in the order of the jobs", run: func(s *site) {
		jobs := make([]providers.Job, 300)
		for i := range jobs {
			jobs[i] = s.shell(fmt.Sprintf("echo %d > o%d", i, i))
			jobs[i].Shape.CPUs = max(1, s.opts.CPUs)
		}
		s.submit(jobs...)
		for i, o := range s.end(jobs...) {
			if o.Status != offer.Completed {
				s.Fatalf("job %d: %+v", i, o)
			}
		}
	}},
	{name: "the same job submitted again runs once", run: func(s *site) {
		a, b := s.once(), s.once()
		first := s.submit(a, b)
		again := s.submit(a, b)
		for i := range first {
			if first[i].Handle != again[i].Handle {
				s.Errorf("handles of %s are %s and %s", first[i].Token, first[i].Handle, again[i].Handle)
			}
		}
		s.end(a, b)
		s.submit(a, b) // and after the end
		c := s.once()
		s.run(c) // whatever was started has had its turn
		for _, j := range []providers.Job{a, b, c} {
			if n := s.ran(j); n != 1 {
				s.Errorf("a job ran %d times", n)
			}
		}
	}},
	{name: "submitting at once from many sides runs once", run: func(s *site) {
		jobs := []providers.Job{s.once(), s.once(), s.once(), s.once()}
		s.submit(jobs[0])
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := s.p.Submit(s.ctx, s.request(jobs...)); err != nil {
					s.Error(describe(err))
				}
			})
		}
		wg.Wait()
		s.submit(jobs...)
		s.end(jobs...)
		for _, j := range jobs {
			if n := s.ran(j); n != 1 {
				s.Errorf("a job ran %d times", n)
			}
		}
	}},
	{name: "the same token with another spec is a conflict", run: func(s *site) {
		j := s.once()
		s.submit(j)
		other := s.once()
		other.Token, other.Shell = j.Token, "echo other > other"
		fine := s.once()
		s.tokens = append(s.tokens, fine.Token)
		out, err := s.p.Submit(s.ctx, s.request(other, fine))
		s.must(err)
		if len(out) != 2 || out[0].Err == nil || out[0].Err.Class != providers.Conflict {
			s.Fatalf("results are %+v, want a conflict first", out)
		}
		if out[1].Err != nil {
			s.Errorf("its neighbour was refused: %v", out[1].Err)
		}
		s.end(j, fine)
		if s.ran(j) != 1 || s.ran(fine) != 1 {
			s.Error("the first job or the neighbour did not run once")
		}
	}},
	{name: "a stale fence is refused and does nothing", run: func(s *site) {
		j := s.gated()
		s.fence = 7
		s.submit(j)
		late := s.once()
		stale := s.request(late)
		stale.Fence = 6
		_, err := s.p.Submit(s.ctx, stale)
		s.wantClass("Submit", err, providers.StaleFence)
		_, err = s.p.Cancel(s.ctx, providers.CancelRequest{Backend: s.b.Name, Fence: 6, Tokens: []string{j.Token}})
		s.wantClass("Cancel", err, providers.StaleFence)
		hold := true
		err = s.p.Control(s.ctx, providers.ControlRequest{Backend: s.b.Name, Fence: 6, Hold: &hold})
		s.wantClass("Control", err, providers.StaleFence)
		s.fence = 8 // a newer one goes on with the jobs of the older
		s.open()
		s.submit(j)
		s.wantStatus(s.end(j)[0], offer.Completed)
		if o := s.find(late.Token)[0]; o.Presence != offer.Absent {
			s.Errorf("a job under a stale fence is there: %+v", o)
		}
	}},
	{name: "of two copies of a state, the one that came first goes on", run: func(s *site) {
		j := s.gated()
		s.fence, s.holder = 7, "first"
		s.submit(j)
		late := s.once()
		other := s.request(late)
		other.Holder = "second"
		_, err := s.p.Submit(s.ctx, other)
		s.wantClass("Submit", err, providers.StaleFence)
		_, err = s.p.Cancel(s.ctx, providers.CancelRequest{Backend: s.b.Name, Fence: 7, Holder: "second", Tokens: []string{j.Token}})
		s.wantClass("Cancel", err, providers.StaleFence)
		hold := true
		err = s.p.Control(s.ctx, providers.ControlRequest{Backend: s.b.Name, Fence: 7, Holder: "second", Hold: &hold})
		s.wantClass("Control", err, providers.StaleFence)
		s.submit(j) // again, as after an answer that was lost
		s.fence, s.holder = 8, "second"
		s.open()
		s.submit(j)
		s.wantStatus(s.end(j)[0], offer.Completed)
		if o := s.find(late.Token)[0]; o.Presence != offer.Absent {
			s.Errorf("a job of the other copy is there: %+v", o)
		}
	}},
	{name: "unknown tokens are absent", run: func(s *site) {
		j := s.once()
		s.run(j)
		seen := s.find(token(), j.Token, token())
		if seen[0].Presence != offer.Absent || seen[1].Presence != offer.Found || seen[2].Presence != offer.Absent {
			s.Errorf("presences are %v, %v, %v", seen[0].Presence, seen[1].Presence, seen[2].Presence)
		}
		s.wantStatus(seen[1], offer.Completed)
	}},
	{name: "a killed provider knows its jobs", needs: needsRestart, run: func(s *site) {
		done, busy := s.once(), s.gated()
		s.run(done)
		s.submit(busy)
		s.running(busy)
		s.restart()
		seen := s.find(done.Token, busy.Token, token())
		s.wantStatus(seen[0], offer.Completed)
		if seen[1].Presence != offer.Found || seen[2].Presence != offer.Absent {
			s.Errorf("presences are %v, %v", seen[1].Presence, seen[2].Presence)
		}
		s.submit(done, busy)
		s.open()
		s.wantStatus(s.end(busy)[0], offer.Completed)
		if n := s.ran(done); n != 1 {
			s.Errorf("a job ran %d times", n)
		}
	}},
	{name: "nothing is lost or run twice however often the provider is killed", needs: needsRestart, run: func(s *site) {
		var jobs []providers.Job
		for range 5 {
			var batch []providers.Job
			for range 8 {
				batch = append(batch, s.once())
			}
			jobs = append(jobs, batch...)
			s.submit(batch...)
			s.restart()
			s.submit(jobs...)
		}
		for _, o := range s.end(jobs...) {
			s.wantStatus(o, offer.Completed)
		}
		for _, j := range jobs {
			if n := s.ran(j); n != 1 {
				s.Errorf("a job ran %d times", n)
			}
		}
	}},
}
