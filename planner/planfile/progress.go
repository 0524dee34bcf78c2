package planfile

import (
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// Progress takes work done since a bound plan was saved out of it, by an interrupted apply of
// it or by another: completed jobs stay, running ones go on, and failed ones keep their count
// of attempts. The state must have passed Check.
func (f *File) Progress(p *planner.Plan, st *state.State) {
	if len(st.Jobs) == 0 {
		return
	}
	for i, pp := range p.Phases {
		c := &f.phases[i]
		pp.Kind = slices.Clone(pp.Kind)
		for cell, k := range pp.Kind {
			if !k.Starts() && k != planner.Blocked && k != planner.Restore && k != planner.AdoptFiles {
				continue
			}
			job := st.Jobs[pp.Phase.Address(cell)]
			if job != nil && f.advanced(job, c.before(cell), pp.Result[cell].String()) {
				pp.Kind[cell] = onward(job.Status)
			}
		}
		if pp.Smoke != nil && pp.Phase.Smoke != nil {
			pp.Smoke = smoked(*pp.Smoke, pp.Phase.Smoke.Cells, st)
		}
	}
}

// advanced reports whether a record has changed since the plan was saved, and
// as the plan wanted.
func (f *File) advanced(job *state.Job, b Before, result string) bool {
	if at := job.Last(); at != nil && at.Plan == f.Head.ID {
		return true
	}
	return before(job) != b && job.Result == result
}

// onward is the remaining action on a job that has advanced.
func onward(s state.Status) planner.Kind {
	switch {
	case s == state.Waiting:
		return planner.Retry
	case s.Active():
		return planner.Continue
	}
	return planner.None // as its record says
}

// smoked is a gate without the smokes that have passed since.
func smoked(g planner.Gate, cells []int, st *state.State) *planner.Gate {
	passed := func(cell int) bool {
		i := slices.Index(cells, cell)
		return i >= 0 && i < len(g.Prints) && st.Validations[g.Prints[i].String()].Passed
	}
	for _, cell := range slices.Concat(g.Run, g.Waiting) {
		if passed(cell) {
			g.Passed = append(slices.Clip(g.Passed), cell)
		}
	}
	g.Run = slices.DeleteFunc(slices.Clone(g.Run), passed)
	g.Canary = slices.DeleteFunc(slices.Clone(g.Canary), passed)
	g.Waiting = slices.DeleteFunc(slices.Clone(g.Waiting), passed)
	return &g
}
