package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// oftenPreempted is after how many preemptions of a phase's jobs on a pool its plan proposes
// another.
const oftenPreempted = 3

// preempted proposes other pools of the same backend for jobs whose phase was often preempted
// where they go.
func preempted(fs *facts, ps phases) (notes []string) {
	for _, w := range ps.drafts {
		count := map[place.PoolAt]int{}
		for i := range w.pp.Kind {
			if job := w.record(i); job != nil {
				for _, a := range job.Attempts {
					if a.Class == failure.Preempted {
						count[place.PoolAt{Backend: a.Backend, Pool: a.Pool}]++
					}
				}
			}
		}
		for at, n := range w.groupJobs() {
			if at == 0 || n == 0 {
				continue
			}
			d := w.pp.Placements[at]
			if times := count[place.PoolAt{Backend: d.Backend, Pool: d.Pool}]; times >= oftenPreempted {
				notes = append(notes, fs.otherPools(w, d, times))
			}
		}
	}
	return notes
}

// otherPools names the pools of a decision's backend that would take its jobs, too, and that
// neither preempt jobs nor are for tests.
func (fs *facts) otherPools(w *draft, d place.Decision, times int) string {
	text := fmt.Sprintf("jobs of phase.%s were preempted %d times on backend.%s, %s", w.p.Name, times, d.Backend, d.Pool)
	word := "pool"
	var others []string
	for _, q := range fs.in.Quotes {
		at := slices.IndexFunc(fs.in.Pools, func(p offer.Pool) bool { return p.Backend == q.Quote.Backend && p.Name == q.Quote.Pool })
		if at < 0 || fs.in.Pools[at].Spot || fs.in.Pools[at].Testing {
			continue
		}
		if q.Quote.Fits && q.Quote.Backend == d.Backend && q.Quote.Pool != d.Pool && q.Shape.Key() == d.Shape.Key() && !slices.Contains(others, q.Quote.Pool) {
			others, word = append(others, q.Quote.Pool), fs.in.Pools[at].Word
		}
	}
	if len(others) == 0 {
		return text + ", and no other pool there takes them"
	}
	kind, _, _ := strings.Cut(d.Backend, ".")
	return fmt.Sprintf("%s; they also fit on %s: write options %q { %s = %q } in the job", text, strings.Join(others, ", "), kind, word, others[0])
}
