package planfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
)

// ApprovedBy are the persons who approved the plan, as the state has them: each
// name counts once, wherever its owner was logged in.
func (f *File) ApprovedBy(st *state.State) map[string]bool {
	by := map[string]bool{}
	for _, r := range st.Reviews[f.Head.ID] {
		by[r.Who] = true
	}
	return by
}

// CheckApprovals refuses a plan that fewer persons approved than its policy asks for.
// A plan that was begun had them. Where one person is enough, that is who applies or saved it.
func (f *File) CheckApprovals(st *state.State, by map[string]bool, name string) diag.List {
	var l diag.List
	need := f.Head.Second.Approvals
	if _, begun := f.approval(st); begun || need < 2 || len(by) >= need {
		return l
	}
	have := "Nobody has approved it yet."
	if len(by) > 0 {
		have = "Approved by " + strings.Join(slices.Sorted(maps.Keys(by)), ", ") + "."
	}
	l.Errorf(units.Count(need, "person")+" must approve this plan", "Because %s. %s %s must run:\n\n    muster approve %s\n\nNothing was started.",
		strings.Join(f.Head.Second.Why, "; "), have, units.Count(need-len(by), "more person"), name)
	return l
}
