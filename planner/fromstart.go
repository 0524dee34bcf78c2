package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
)

// FromStart reports whether a launch for a result begins from the start, since the checkpoint
// that it may find belongs to other work: to a completed result that it replaces, or to the job as
// it was defined before. A completed result of the same definition that lacks outputs may be made
// again from its checkpoint. Here selects the attempts that had their files where the launch has
// them.
func FromStart(rec *state.Job, earlier []state.Attempt, result string, lacks bool, here func([]state.Attempt) []state.Attempt) bool {
	if rec == nil || rec.Status == state.Forgotten {
		rec = &state.Job{}
	}
	switch {
	case scheme(rec) != Scheme:
		return false // which results are equal is not known
	case rec.Status == state.Completed:
		return rec.Result != result || !lacks
	case lastThatRan(rec.Attempts) == nil && len(rec.Kept) > 0:
		return true // it has not run since it was to replace a result
	}
	if last := lastThatRan(here(rec.Attempts)); last != nil {
		return rec.Result != result
	}
	last := lastThatRan(here(earlier))
	return last != nil && last.Result != "" && last.Result != result
}

// noteFromStart says which jobs lose the work of earlier launches because they have changed, and
// where a job may resume from a checkpoint of other work.
func noteFromStart(st *state.State, w *draft) []string {
	c := w.p.Checkpoint
	if c == nil {
		return nil
	}
	lost, replaced := 0, 0
	for i, kind := range w.pp.Kind {
		rec := w.record(i)
		if !kind.Starts() || rec == nil && len(st.Earlier) == 0 {
			continue
		}
		all := func(a []state.Attempt) []state.Attempt { return a }
		switch {
		case !FromStart(rec, st.Earlier[w.p.Address(i)], w.pp.ResultText(int32(i)), len(w.pp.Details[i].Lacks) > 0, all):
		case rec != nil && rec.Status == state.Completed:
			replaced++
		default:
			lost++
		}
	}
	switch n := lost + replaced; {
	case n == 0:
		return nil
	case c.Shared:
		return []string{fmt.Sprintf("phase.%s: %s should begin from the start, but muster moves no checkpoint that is outside the workdir or not one job's own (%s). Remove it first, or a job may resume from other work",
			w.p.Name, units.Count(n, "job"), w.p.CheckpointPath(0, ""))}
	case lost == 0:
		return nil // that a completed job runs again is its row
	}
	text := "%s of phase.%s changed after an unfinished launch and %s from the start: muster moves %s to .muster/replaced. To continue instead, name the change in lifecycle.ignore_changes"
	if lost == 1 {
		return []string{fmt.Sprintf(text, "1 job", w.p.Name, "begins", "its checkpoint")}
	}
	return []string{fmt.Sprintf(text, units.Count(lost, "job"), w.p.Name, "begin", "their checkpoints")}
}
