package apply

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
)

// packs is how many jobs may be one job of the scheduler with this one; 1 = none. A pilot
// runs alone.
func (f *attempt) packs() int {
	s := f.where.Shape
	switch {
	case f.smoke || s.Pack < 2 || f.p.Gate.Pilots[f.cell]:
		return 1
	case !f.grew():
		return s.Pack
	}
	return min(s.Pack, f.beside()*min(s.Turns(), f.where.Limits.On(f.B.Pools[f.Pool]).Turns(*f.asked, 0)))
}

// beside is how many of them run beside one another.
func (f *attempt) beside() int {
	if !f.grew() {
		return f.where.Shape.Beside()
	}
	return min(f.where.Shape.Beside(), f.B.Pools[f.Pool].Packs(*f.asked))
}

// grew reports whether a launch asks for more than the first one, so that fewer fit on a
// node, and in the time of an allocation.
func (f *attempt) grew() bool {
	a, s := f.asked, f.where.Shape
	return a.Memory > s.Memory || a.CPUs > s.CPUs || a.GPUs > s.GPUs || a.Walltime > s.Walltime
}

// shares reports whether a job was submitted to share a node with others.
func (f *attempt) shares() bool { return f.pack != "" || f.asked != nil && f.asked.Pack > 1 }

// join keeps a job for a pack, and starts the pack when it is full: the charge of
// each job depends on their number.
func (s *starter) join(f *attempt) verdict {
	if len(s.pack) > 0 && !s.pack[0].alike(f) {
		s.send()
	}
	s.pack = append(s.pack, f)
	if len(s.pack) < f.packs() {
		return started
	}
	list := s.pack
	s.pack = nil
	wait := s.startPack(list)
	if n := len(wait); n > 0 && wait[n-1] == f { // the caller keeps it
		s.back(wait[:n-1])
		return full
	}
	s.back(wait)
	return started
}

// alike reports whether two jobs may share a node.
func (f *attempt) alike(o *attempt) bool {
	return f.p == o.p && f.where == o.where && f.asked.Key() == o.asked.Key() && f.Job.Workdir == o.Job.Workdir && string(f.Job.Options) == string(o.Job.Options)
}

// send starts the pack that is not full: no other job joins it.
func (s *starter) send() {
	list := s.pack
	s.pack = nil
	s.back(s.startPack(list))
}

// back returns jobs that were not started to their queues.
func (s *starter) back(list []*attempt) {
	for _, f := range list {
		if f.p.At[f.cell] == cells.Ready {
			f.p.queues[s.backends.At(f.where.Backend, f.where.Pool).Ord].Push(f.cell)
		}
	}
}

// startPack starts jobs that share a node, if every account covers all of them. It
// returns those that wait.
func (s *starter) startPack(list []*attempt) (wait []*attempt) {
	if len(list) > 1 {
		slots := list[0].where.Shape.Slots
		if slots > 0 {
			slots = list[0].beside()
		}
		for _, f := range list {
			f.asked.Slots, f.asked.Allocation, f.pack = slots, f.where.Shape.Allocation, list[0].Token
			*f.asked = f.asked.Together(len(list))
			f.Job.Pack, f.Job.Retry = f.pack, providers.Retry{Max: 1}
			f.Job.Shape.Pack, f.Job.Shape.Slots, f.Job.Shape.Allocation = f.asked.Pack, f.asked.Slots, f.asked.Allocation
			f.Under = cmp.Or(f.Under, f.inTurns())
		}
	}
	covered := s.covered(list) && s.accounts.claim(list...)
	for _, f := range list {
		s.accounts.setAside(f, nil)
		switch {
		case covered && s.err == nil:
			s.mint(f)
		case !covered && s.unaffordable(f) == full:
			wait = append(wait, f)
		}
	}
	return wait
}

// inTurns is how many jobs of a pack run at once, where the others wait for their turns.
func (f *attempt) inTurns() connection.Throttle {
	if f.asked.Turns() < 2 {
		return connection.Throttle{}
	}
	return connection.Throttle{Phase: f.pack, Most: f.asked.Beside()}
}

// adds is how many jobs may run at once with the one that starts: those of its pack, but
// for those that wait for their turns.
func (s *starter) adds() int {
	n := len(s.pack) + 1
	if n > 1 && s.pack[0].where.Shape.Slots > 0 {
		n = min(n, s.pack[0].beside())
	}
	return n
}

// covered reports whether every account covers jobs together.
func (s *starter) covered(list []*attempt) bool {
	for i, f := range list {
		s.accounts.setAside(f, nil)
		if !s.accounts.afford(f) {
			return false
		}
		if i < len(list)-1 {
			s.accounts.budgets.Open(&f.tab)
			defer s.accounts.budgets.Close(&f.tab)
		}
	}
	return true
}

// mayGrow reports whether the jobs that are ready, fewer than share a node, wait for
// others of their phase, which become ready when jobs that run have ended, or when the
// delay before their retry is over: jobs of one node that fail together are due moments
// apart.
func (s *starter) mayGrow(p *phase, q *cells.Queue) bool {
	d := p.places.Of(q.Front())
	if d == nil || q.Len() >= d.Shape.Beside() || s.leavesJobs() {
		return false
	}
	if (p.Counts[cells.Pending] == 0 || !upstreamRuns(p)) && (p.Counts[cells.Waiting] == 0 || !s.schedule.retrying(p)) {
		return false
	}
	p.stalled.Note(stallPack, fmt.Sprintf("%s for others, to share a node: %d run on one", units.Count(q.Len(), "job"), d.Shape.Beside()))
	return true
}

// upstreamRuns reports whether a job runs that a phase, or one before it, waits for.
func upstreamRuns(p *phase) bool {
	for _, in := range p.inputs {
		if in.from.inflight > 0 || upstreamRuns(in.from) {
			return true
		}
	}
	return false
}

// leave takes a job that ended out of its pack: the node is that of the others.
func (ac *accounts) leave(f *attempt) {
	list := ac.packs[f.pack]
	if i := slices.Index(list, f); i >= 0 {
		list = slices.Delete(list, i, i+1)
		ac.packs[f.pack] = list
		ac.reshare(list)
	}
	if len(list) == 0 {
		delete(ac.packs, f.pack)
	}
}

// reshare sets aside for the jobs of a pack their shares where fewer of them run than began:
// until the last one ends, they have the node in equal parts.
func (ac *accounts) reshare(list []*attempt) {
	for _, f := range list {
		if f.asked.Pack <= len(list) || f.short != "" {
			continue
		}
		ac.budgets.Close(&f.tab)
		now := *f.asked
		now.Pack = len(list) // also of the last one, which has the node alone
		f.asked = &now
		ac.setAside(f, nil)
		ac.budgets.Open(&f.tab)
	}
}
