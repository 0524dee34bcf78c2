package advice

import (
	"fmt"
	"slices"
	"time"
)

// launchedAgain finds work that began again after it was preempted.
func (a *adviser) launchedAgain(g *group) []Proposal {
	lost := failed(g.launches, preempted)
	if g.phase.Checkpoint != nil || len(lost) == 0 || float64(len(lost)) < often*float64(len(g.launches)) {
		return nil
	}
	c := &class{group: g, launches: lost}
	t := tally{}
	for _, l := range lost {
		t.charged(c.shape(l.Cell), a.pool(l), elapsed(l), one)
		t.add(RunHours, hours(elapsed(l)))
	}
	return []Proposal{{Phase: g.phase.Name, Kind: "retry", Title: "Keep the work of a job that is ended from outside", Edit: a.add(g.phase, `checkpoint { path = "checkpoints/${cell.key}" }`),
		Why:   fmt.Sprintf("%d of %s were preempted, and their work was lost.", len(lost), count(len(g.launches), "launch", "launches")),
		Saves: t.list("at most, that these launches took", false)}}
}

// sized are the classes of failure that other rules follow.
var sized = []string{oomHost, oomSched, oomGPU, outOfTime, preempted}

// failing notes where launches fail that no resource would fix, and how much of
// the jobs' time they took: no line of the campaign is known to be wrong.
func (a *adviser) failing(g *group) {
	by := map[string]int{}
	var lost time.Duration
	n := 0
	for _, l := range g.launches {
		if c := l.At.Class; c != "" && !l.Completed && !l.GoesOn && !slices.Contains(sized, c) {
			by[c]++
			n++
			lost += elapsed(l)
		}
	}
	if float64(n) < often*float64(len(g.launches)) || n == 0 {
		return
	}
	worst := slices.MaxFunc(sortedKeys(by), func(x, y string) int { return by[x] - by[y] })
	h := g.history()
	said := fmt.Sprintf("phase.%s: %d of %s failed, most with %s, and ran %s", g.phase.Name, n, count(len(g.launches), "launch", "launches"), worst, brief(lost))
	if all := h.Sum.Total(); h.Sum.Retry > 0 && all > 0 {
		said += fmt.Sprintf("; retries took %.0f %% of the time from submission to end", 100*h.Sum.Retry.Seconds()/all.Seconds())
	}
	a.note("%s. More resources do not fix that: `muster status` and `muster logs` say why", said)
}
