package rehearse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// mostWaiting bounds the reasons that one rehearsal reports.
const mostWaiting = 5

// waiting says which phases have jobs at the end that failed, are held, or wait for
// such, and why: "phase.train: jobs failed (nan)".
func waiting(p *planner.Plan, st *state.State) (out []string) {
	say := func(text string) {
		if text, _, _ = strings.Cut(text, "\n"); len(out) < mostWaiting && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, pp := range p.Phases {
		name := "phase." + pp.Phase.Name
		stopped, missing := false, false
		for i, kind := range pp.Kind {
			job := st.Jobs[pp.Phase.Address(i)]
			switch {
			case job == nil && kind == planner.HeldKind:
				say(name + ": jobs are held: " + cmp.Or(pp.Detail(i).Text, "the plan holds them"))
				stopped = true
			case job == nil:
				missing = true
			case job.Status == state.Failed:
				say(name + ": jobs failed (" + cmp.Or(job.Class, "unknown") + ")")
				stopped = true
			case job.Status == state.Held, job.Status == state.Cancelled:
				say(name + ": jobs are " + string(job.Status) + ": " + cmp.Or(job.Reason, job.Class, "no reason is recorded"))
				stopped = true
			case job.Status != state.Completed:
				missing = true
			}
		}
		if missing && !stopped {
			say(name + ": jobs wait for " + waitsFor(pp, st))
		}
	}
	return out
}

// waitsFor names the phases that a phase reads and that have unfinished jobs.
func waitsFor(pp *planner.PhasePlan, st *state.State) string {
	var out []string
	for _, in := range pp.Phase.Inputs {
		for i := range in.From.Len() {
			if job := st.Jobs[in.From.Address(i)]; job == nil || job.Status != state.Completed {
				out = append(out, "phase."+in.From.Name)
				break
			}
		}
	}
	if len(out) == 0 {
		return "what nobody starts"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(out))), ", ")
}
