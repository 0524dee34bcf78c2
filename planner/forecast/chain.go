package forecast

import "time"

// Work that is longer than one launch may last is done in several: each leaves
// its place at its end, waits again, and goes on from the checkpoint of the one
// before.

// between is the time from the end of a launch to the turn of the next.
func (g *Group) between() time.Duration {
	return g.Delay + max(g.Again-g.Turn, 0) + g.Decision.Boot
}

// chain appends the runs of a job's work: the launches that its end at the
// walltime cuts it into, each after a turn. It returns the first of them, which
// a job that runs has begun.
func (g *Group) chain(runs []run, group int, work, turn time.Duration) []run {
	limit := g.Launch
	if g.InFlight {
		limit = max(limit-g.Running, 0)
	}
	for ; ; limit = g.Launch {
		if g.Launch <= 0 || work <= limit || len(runs) >= Never-2 {
			return append(runs, run{group: group, dur: work + turn})
		}
		runs = append(runs, run{group: group, dur: limit + turn, next: uint16(len(runs) + 1), gap: g.between()})
		work -= limit
	}
}

// together makes the run of a group whose jobs all take as long, in its place,
// and those that follow it at the end.
func (g *Group) together(runs []run, group int, late bool, alike int) []run {
	at := len(runs)
	runs = g.chain(runs, group, g.work(late, alike), g.turn(late))
	runs[group] = runs[at]
	runs[group].dur += g.retries(late)
	if runs[at].next == 0 {
		return runs[:at]
	}
	return runs
}

// launches is how many launches of work a time is.
func (g *Group) launches(t time.Duration) int {
	switch {
	case g.Launch > 0:
		return int(max((t+g.Launch-1)/g.Launch, 1))
	case g.InFlight:
		return 1
	}
	return max(g.Decision.Segments, 1)
}
