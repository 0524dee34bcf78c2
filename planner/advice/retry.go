package advice

import "fmt"

// launchedAgain finds work that began anew after it was preempted.
func (a *adviser) launchedAgain(g *group) []Proposal {
	lost := failed(g.launches, preempted)
	if g.phase.Checkpoint != nil || len(lost) == 0 || float64(len(lost)) < often*float64(len(g.launches)) {
		return nil
	}
	c := &class{group: g, launches: lost}
	t := tally{}
	for _, l := range lost {
		t.charged(c.shape(l.cell), a.pool(l), elapsed(l), one)
		t.add(RunHours, hours(elapsed(l)))
	}
	return []Proposal{{Phase: g.phase.Name, Kind: "retry", Title: "Keep what was done when a job is ended from outside", Edit: a.add(g.phase, `checkpoint { path = "checkpoints/${cell.key}" }`),
		Why:   fmt.Sprintf("%d of %s were preempted, and what they had done was lost.", len(lost), count(len(g.launches), "launch", "launches")),
		Saves: t.list("at most, that these launches took", false)}}
}
