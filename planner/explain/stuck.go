package explain

import (
	"cmp"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Stuck tells by address, from the state alone, which jobs wait for something that needs a
// person, and for what: a job that failed, is held or was cancelled, or the smoke of their
// phase. A job in a queue may also wait for the `muster resume` of a hold or a breaker, of
// its own or of a job before it. as may replace a record, such as by its backend's latest
// report.
func Stuck(c *lang.Campaign, st *state.State, as func(*state.Job) *state.Job) map[string]string {
	s := stuckJobs{st: st, as: as, stops: planner.StopsOf(st), why: map[string]string{}, roots: map[string][]string{}, queued: map[string][]string{}}
	for _, p := range c.Phases {
		s.phase(p)
	}
	return s.why
}

type stuckJobs struct {
	st    *state.State
	as    func(*state.Job) *state.Job
	stops planner.Stops
	why   map[string]string
	// queued has, as roots, the commands that jobs in queues wait for. A job without a
	// record has not come that far: it does not wait for one.
	queued map[string][]string
	roots  map[string][]string // by phase and cell, the jobs that it waits for in vain; nil when there is none
}

func (s *stuckJobs) phase(p *lang.Phase) {
	roots, queued := make([]string, p.Len()), make([]string, p.Len())
	whole := s.whole(p)
	for i := range roots {
		address := p.Address(i)
		j := s.st.Job(address)
		if j != nil {
			j = s.as(j)
		}
		switch {
		case Unstarted(j):
			if roots[i] = whole; whole == "" {
				roots[i] = s.input(p, i, s.roots)
			}
			if roots[i] != "" {
				s.why[address] = roots[i]
			}
		case j.Status == state.Failed || j.Status == state.Held || j.Status == state.Cancelled:
			roots[i] = address
		case InQueue(j.Status):
			if queued[i] = cmp.Or(s.stops.Resume(p, i), s.input(p, i, s.queued)); queued[i] != "" {
				s.why[address] = queued[i]
			}
		}
	}
	some := func(r string) bool { return r != "" }
	if slices.ContainsFunc(roots, some) {
		s.roots[p.Name] = roots
	}
	if slices.ContainsFunc(queued, some) {
		s.queued[p.Name] = queued
	}
}

// whole names the obstacle to all jobs of a phase: its smoke, or a phase on
// which it depends.
func (s *stuckJobs) whole(p *lang.Phase) string {
	if SmokeFailed(p, s.st) != nil {
		return "the smoke of phase." + p.Name
	}
	for _, name := range p.DependsOn {
		for _, root := range s.roots[name] {
			if root != "" {
				return root
			}
		}
	}
	return ""
}

// input names the jobs that one of a cell's inputs waits for.
func (s *stuckJobs) input(p *lang.Phase, cell int, of map[string][]string) string {
	for _, in := range p.Inputs {
		roots := of[in.From.Name]
		if roots == nil {
			continue
		}
		members := in.Members(in.GroupOf(cell))
		stuck := slices.DeleteFunc(slices.Clone(members), func(m int) bool { return roots[m] == "" })
		if len(members)-len(stuck) < in.Required(len(members)) {
			return roots[stuck[0]]
		}
	}
	return ""
}

// InQueue reports whether a job is in a queue, which may keep it from starting.
func InQueue(s state.Status) bool {
	return s == state.Submitting || s == state.Queued || s == state.Waiting
}

// Unstarted reports whether a record says no more of a job than none would: muster took it
// back from a queue because a job before it had failed, and starts it when that is done.
func Unstarted(j *state.Job) bool {
	return j == nil || j.Status == state.Forgotten || j.Status == state.Cancelled && j.Class == offer.Blocked
}

// SmokeFailed is the verdict of the phase's last smoke if it failed and nobody
// overrode it, else nil.
func SmokeFailed(p *lang.Phase, st *state.State) *state.Validation {
	if p.Smoke == nil {
		return nil
	}
	cells := map[string]bool{}
	for _, i := range p.Smoke.Cells {
		cells[p.Address(i)] = true
	}
	var last state.Validation
	for _, v := range st.Validations {
		if cells[v.Address] && v.At.After(last.At) {
			last = v
		}
	}
	for _, o := range st.Overrides {
		if o.Address == "phase."+p.Name && (o.At.After(last.At) || o.Fingerprint != "" && o.Fingerprint == last.Fingerprint) {
			return nil // by its fingerprint also where the smoke ended by another clock than the word was given
		}
	}
	if last.At.IsZero() || last.Passed || last.Undecided() {
		return nil
	}
	return &last
}
