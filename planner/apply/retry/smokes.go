package retry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// smokeBudget is how many smokes of a phase may fail before each further one
// needs a person's word. Whoever has changed a configuration five times without
// one that works is guessing, as the practice of iteration budgets has it.
const smokeBudget = 5

// smokesAlike is how many smokes of a phase may fail alike in a row, whatever was
// changed between them: the second says that the change did not reach the cause.
const smokesAlike = 2

// Smokes decides whether a phase may have another smoke, from the reasons of
// those that failed since the last one passed, the latest last. It may if there
// is no trip.
func Smokes(failed []string, policy lang.Breaker) *Trip {
	n, row := len(failed), 0
	for row < n && failure.Signature(failed[n-1-row]) == failure.Signature(failed[n-1]) {
		row++
	}
	switch {
	case policy.SameError > 0 && row >= smokesAlike:
		return &Trip{Cause: "smoke", Count: row, Reason: fmt.Sprintf("the smoke failed %d times in a row with the same error: %s", row, failed[n-1])}
	case n >= smokeBudget:
		return &Trip{Cause: "smoke", Count: n, Reason: fmt.Sprintf("%d smokes have failed and none passed, the last: %s", n, failed[n-1])}
	}
	return nil
}

// FailedSmokes lists the reasons of a phase's smokes that failed since the
// last one passed, or since a person let the gate pass; the latest last.
func FailedSmokes(st *state.State, phase string) (said []string) {
	var since time.Time
	for _, o := range st.Overrides {
		if o.Address == "phase."+phase && o.At.After(since) {
			since = o.At
		}
	}
	var failed []state.Validation
	for _, v := range st.Validations {
		switch j, err := addr.Parse(v.Address); {
		case err != nil || j.Phase != phase:
		case v.Undecided():
		case !v.Passed:
			failed = append(failed, v)
		case v.At.After(since):
			since = v.At
		}
	}
	slices.SortFunc(failed, func(a, b state.Validation) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Address, b.Address), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	for _, v := range failed {
		if v.At.After(since) {
			said = append(said, v.Message)
		}
	}
	return said
}
