package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
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
	asWritten := a.asWritten(g)
	if !fits && !slices.ContainsFunc(g.launches, func(l launch) bool { return asWritten(l.Cell) }) {
		return a.smoked(g)
	}
	var out []Proposal
	for _, c := range g.classes(askedTime) {
		asked := time.Duration(c.asked)
		took := measures(c.launches, g.usedTime)
		longest, others := time.Duration(most(took)), false
		if fits {
			runtime, known := c.expected(model, asWritten)
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
			p.Why = fmt.Sprintf("%s requested, but the longest of %s took %s.", units.ShortDuration(asked), count(len(took), "job", "jobs"), brief(time.Duration(most(took))))
			if longest > time.Duration(most(took)) {
				p.Why += fmt.Sprintf(" The longest forecast of the others is %s.", brief(longest))
			}
			p.Saves = a.ceiling(c, value)
			out = append(out, p)
		}
	}
	return out
}

// asWritten tells whether a cell's record shows the work as the campaign has it now. One
// cell speaks for all of its definition.
func (a *adviser) asWritten(g *group) func(cell int) bool {
	known := map[string]bool{g.phase.Definition().Digest: true}
	return func(cell int) bool {
		job := g.records[cell]
		if job == nil {
			return false
		}
		same, ok := known[job.Definition]
		if !ok {
			was, err := lang.FieldsOf(a.State.Definitions[job.Definition], job.Axes.Map(), lang.Run)
			same = err != nil || slices.Equal(was, g.phase.Fields(cell, lang.Run))
			known[job.Definition] = same
		}
		return same
	}
}

// smoked compares the time asked for with how long a run takes by the smoke, where no
// job says it: a smoke shows before the first job that its walltime ends it.
func (a *adviser) smoked(g *group) (out []Proposal) {
	if g.phase.Smoke == nil {
		return nil
	}
	run, smoke, ok := g.past.Measurements(a.smokes(g.phase)).FromSmoke()
	if !ok {
		return nil
	}
	for _, c := range g.classes(askedTime) {
		asked := time.Duration(c.asked)
		value := max(timeLike(time.Duration(float64(run)*aboveTime)), shortWalltime)
		p := Proposal{Phase: g.phase.Name, Kind: "walltime", Jobs: c.who(), Margin: "30 % above that, rounded up"}
		switch {
		case asked <= 0 || !slices.ContainsFunc(g.phase.Smoke.Cells, func(cell int) bool { return askedTime(g.shape(cell)) == c.asked }):
			continue
		case run > asked && g.phase.Checkpoint == nil: // else the next launch goes on with its work
			p.Title = "Ask for more time, or add a checkpoint"
		case asked > shortWalltime && asked > offBy*run && value < asked:
			p.Title = "Ask for less time"
			p.Saves = a.ceiling(c, value)
		default:
			continue
		}
		p.Edit = a.asked(g, "walltime", quoted(units.ShortDuration(value)))
		p.Why = fmt.Sprintf("%s requested, but by its params a run takes about %s: the longest smoke took %s.", units.ShortDuration(asked), brief(run), brief(smoke))
		if g.phase.Smoke.Canary == nil {
			p.Why += " The time to start counts as work in this; a canary in the smoke block shows it."
		}
		out = append(out, p)
	}
	return out
}

// smokes are the verdicts of smokes that ran with the params that the phase's have now.
func (a *adviser) smokes(p *lang.Phase) map[string]state.Validation {
	out := map[string]state.Validation{}
	for _, cell := range p.Smoke.Cells {
		job := a.State.Job(state.SmokeAddress(p.Address(cell)))
		if job == nil {
			continue
		}
		v, judged := a.State.Validations[job.Result]
		was, err := lang.FieldsOf(a.State.Definitions[job.Definition], job.Axes.Map(), lang.SmokeRun)
		if judged && err == nil && slices.Equal(was, p.Fields(cell, lang.SmokeRun)) {
			out[v.Fingerprint] = v
		}
	}
	return out
}

// expected is the longest runtime, at the 90th percentile, that a model says of
// a class's cells that have not completed as they are written now; known is false where it says nothing of one.
func (c *class) expected(model *history.Fitted, asWritten func(cell int) bool) (out time.Duration, known bool) {
	known = true
	for cell := range c.phase.Len() {
		if askedTime(c.shape(cell)) != c.asked || c.records[cell] != nil && c.records[cell].Status == "completed" && asWritten(cell) {
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
