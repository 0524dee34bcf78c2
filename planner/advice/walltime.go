package advice

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
)

const timeMargin = "30 % above the longest, rounded up"

// shortWalltime is a walltime so short that no scheduler places a job worse
// for it.
const shortWalltime = 10 * time.Minute

// moreTime is by how much a walltime grows where all that is known is that it
// was too short.
const moreTime = 1.5

// walltime compares the time asked for with the longest that a job took, or is
// expected to take. A walltime that is too long costs no money by itself: it
// raises the ceiling of a plan, and a job waits longer for a gap it fits.
func (a *adviser) walltime(g *group) []Proposal {
	model, fits := g.past.Fit(&a.fits)
	var out []Proposal
	for _, c := range g.classes(askedTime) {
		asked := time.Duration(c.asked)
		took := measures(c.launches, g.usedTime)
		longest, others := time.Duration(most(took)), false
		if fits {
			runtime, known := c.expected(model)
			longest, others = max(longest, runtime), !known
		}
		cut := failed(c.launches, outOfTime)
		p := Proposal{Phase: g.phase.Name, Kind: "walltime", Jobs: c.who(), Margin: timeMargin}
		switch {
		case asked <= 0 || g.phase.Checkpoint != nil && len(cut) > 0: // it goes on where it was
		case float64(len(cut)) >= often*float64(len(c.launches)) && len(cut) > 0:
			need := max(longest, time.Duration(float64(asked)*moreTime/aboveTime))
			value := timeLike(time.Duration(float64(need) * aboveTime))
			p.Title = "Ask for more time, or add a checkpoint"
			if longest <= asked {
				p.Margin = "half as much again: none of them finished, so their runtime is unknown"
			}
			p.Edit = a.asked(g, "walltime", quoted(units.ShortDuration(value)))
			p.Why = fmt.Sprintf("%d of %s were ended at their walltime of %s%s.", len(cut), count(len(c.launches), "launch", "launches"), units.ShortDuration(asked), a.at(g, cut))
			t := tally{}
			for _, l := range cut {
				t.charged(c.shape(l.Cell), a.pool(l), elapsed(l), one)
				t.add(RunHours, hours(elapsed(l)))
			}
			p.Saves = t.list("that the "+count(len(cut), "launch", "launches")+" took", false)
			out = append(out, p)
		case len(cut) == 0 && !others && len(took) >= enough && asked > shortWalltime && asked > offBy*longest:
			value := max(timeLike(time.Duration(float64(longest)*aboveTime)), shortWalltime)
			if value >= asked {
				continue
			}
			p.Title = "Ask for less time"
			p.Edit = a.asked(g, "walltime", quoted(units.ShortDuration(value)))
			p.Why = fmt.Sprintf("%s asked for, and the longest of %s took %s.", units.ShortDuration(asked), count(len(took), "job", "jobs"), brief(time.Duration(most(took))))
			if longest > time.Duration(most(took)) {
				p.Why += fmt.Sprintf(" The longest forecast of the others is %s.", brief(longest))
			}
			p.Saves = a.ceiling(c, value)
			out = append(out, p)
		}
	}
	return out
}

// expected is the longest runtime, at the 90th percentile, that a model says of
// a class's cells that have not completed; known is false where it says nothing of one.
func (c *class) expected(model *history.Fitted) (out time.Duration, known bool) {
	known = true
	for cell := range c.phase.Len() {
		if askedTime(c.shape(cell)) != c.asked || c.records[cell] != nil && c.records[cell].Status == "completed" {
			continue
		}
		if r, ok := model.Predict(cell); ok {
			out = max(out, r.P90)
			known = known && r.Mark != forecast.Unknown
		}
	}
	return out, known
}

func elapsed(l launch) time.Duration { return history.Elapsed(l.At) }

// brief is a duration for people, and not nothing.
func brief(d time.Duration) string {
	if d < time.Second {
		return "less than 1s"
	}
	return units.FormatDuration(d.Round(time.Second))
}
