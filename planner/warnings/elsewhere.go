package warnings

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
)

// mostElsewhere is how many notes there are of jobs that went elsewhere.
const mostElsewhere = 5

// Elsewhere names the jobs that did not go where they were to go first, as
// it is recorded: their results came from another place than the plan before
// intended.
func Elsewhere(phases []history.PhaseRecords) (notes []string) {
	type way struct{ phase, to, why string }
	counts := map[way]int{}
	var ways []way
	for _, w := range phases {
		for _, job := range w.Records {
			at := job.Last()
			if at == nil || at.Why == "" {
				continue
			}
			why, ok := place.Elsewhere(at.Why)
			if !ok {
				continue
			}
			if i := strings.Index(why, job.Address); i >= 0 { // the rest is about this job alone
				why = why[:i] + "it"
			}
			k := way{w.Name, strings.TrimSuffix(at.Backend+" "+at.Pool, " "), strings.TrimSpace(why)}
			if counts[k]++; counts[k] == 1 {
				ways = append(ways, k)
			}
		}
	}
	for i, k := range ways {
		if i == mostElsewhere {
			notes = append(notes, fmt.Sprintf("Jobs left their first choice for %d more reasons; `muster explain ADDR` shows each.", len(ways)-i))
			break
		}
		notes = append(notes, fmt.Sprintf("phase.%s: %s went to %s, not to the first choice: %s.", k.phase, amount.Jobs(counts[k]), k.to, strings.TrimSuffix(k.why, ".")))
	}
	return notes
}
