package brake

import (
	"fmt"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
)

// smokeBudget is how many smokes of a phase may fail before each further one
// needs a person's word. Whoever has changed a configuration five times without
// one that works is guessing, as the practice of iteration budgets has it.
const smokeBudget = 5

// Smokes decides whether a phase may have another smoke, by what those said
// that failed since the last one passed, the latest last. It may if there is no
// trip.
func Smokes(failed []string, policy lang.Breaker) *Trip {
	n, row := len(failed), 0
	for row < n && failure.Signature(failed[n-1-row]) == failure.Signature(failed[n-1]) {
		row++
	}
	switch {
	case policy.SameError > 0 && row >= policy.SameError:
		return &Trip{"smoke", row, fmt.Sprintf("the smoke failed %d times in a row with the same error: %s", row, failed[n-1])}
	case n >= smokeBudget:
		return &Trip{"smoke", n, fmt.Sprintf("%d smokes have failed and none passed, the last: %s", n, failed[n-1])}
	}
	return nil
}
