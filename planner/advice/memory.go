package advice

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Failure classes as attempts record them.
const (
	oomHost   = "oom_host"
	oomSched  = "oom_sched"
	oomGPU    = "oom_gpu"
	outOfTime = "walltime"
	preempted = "preempted"
)

const memoryMargin = "20 % above the most that was used, rounded up: jobs are resubmitted with MaxRSS × 1.2"

// memory compares requested host memory with the most that any launch used.
func (a *adviser) memory(g *group) []Proposal {
	by := map[int64]history.Memory{}
	for _, m := range g.past.Memory() {
		by[m.Asked] = m
	}
	var out []Proposal
	for _, c := range g.classes(askedMemory) {
		switch m := by[int64(c.asked)]; m.Verdict() {
		case history.Corner:
			if e, ok := a.scaleMemory(c.phase); ok { // else the next launch of each gets more
				out = append(out, Proposal{Phase: c.phase.Name, Kind: "retry", Title: "Give the few jobs that run out of memory more, and no others", Jobs: c.who(), Edit: e, Why: a.ranOut(c, m) + " That is a corner of the grid, not the phase."})
			}
		case history.TooLittle:
			out = append(out, a.moreMemory(c, m)...)
		case history.TooMuch:
			value := sizeLike(max(float64(m.Most)*aboveUse, history.LittleMemory), a.sizeText(g, "memory", c.asked))
			size, err := units.ParseSize(value)
			if err != nil || float64(size) >= c.asked {
				continue
			}
			p := Proposal{Phase: g.phase.Name, Kind: "memory", Title: "Ask for less memory", Jobs: c.who(), Edit: a.asked(g, "memory", quoted(value)), Margin: memoryMargin, Why: measuredMemory(m)}
			p.Saves = a.spared(c, func(s offer.Shape) offer.Shape { s.Memory = size; return s })
			p.Saves = append(p.Saves, a.beside(c, func(s offer.Shape) offer.Shape { s.Memory = size; return s })...)
			out = append(out, p)
		}
	}
	return out
}

func measuredMemory(m history.Memory) string {
	return fmt.Sprintf("%s requested, but the most that any of %s used was %s.", units.FormatSize(m.Asked), count(m.Measured, "measured launch", "measured launches"), units.FormatSize(m.Most))
}

func (a *adviser) ranOut(c *class, m history.Memory) string {
	return fmt.Sprintf("%d of %s ran out of memory%s.", len(m.Killed), count(m.Launches, "launch", "launches"), a.at(c.group, m.Killed))
}

// moreMemory follows launches that were killed for their memory, or used far more
// than they asked for.
func (a *adviser) moreMemory(c *class, m history.Memory) []Proposal {
	if c.asked == 0 && m.Most == 0 {
		return nil
	}
	need, margin := enoughMemory(c, m.Killed, float64(m.Most))
	p := Proposal{Phase: c.phase.Name, Kind: "memory", Title: "Ask for more memory", Jobs: c.who(), Edit: a.asked(c.group, "memory", quoted(sizeLike(need, a.sizeText(c.group, "memory", c.asked)))), Margin: margin, Why: measuredMemory(m)}
	if len(m.Killed) > 0 {
		p.Why = a.ranOut(c, m)
		t := tally{}
		for _, l := range m.Killed {
			t.charged(c.shape(l.Cell), a.pool(l), elapsed(l), one)
			t.add(RunHours, place.Hours(elapsed(l)))
		}
		p.Saves = t.list("that the "+count(len(m.Killed), "killed launch", "killed launches")+" took", false)
	}
	return []Proposal{p}
}

// nearlyAll is the share of the given memory above which the measured peak
// counts as the need; below it the peak was missed.
const nearlyAll = 0.75

// enoughMemory is how much, in bytes, the jobs of a class need, of which some ran out
// of memory: these needed more than they were given.
func enoughMemory(c *class, killed []launch, used float64) (need float64, margin string) {
	given := c.asked
	for _, l := range killed {
		given = max(given, float64(history.Given(c.phase, l.Cell, l.At)))
	}
	for _, l := range c.launches {
		if had := float64(history.Given(c.phase, l.Cell, l.At)); l.Completed && had > given && (need == 0 || had < need) {
			need = had
		}
	}
	switch {
	case need > 0:
		return need, "enough for a launch that was given more"
	case used < nearlyAll*given:
		return 2 * given, "twice the memory given, because the peak was not measured"
	}
	return max(used, given) * aboveUse, memoryMargin
}

// scaleMemory is the edit by which the next launch of a job that ran out of
// memory gets more; false where it does already. A scale for a class that is not
// retried would be none.
func (a *adviser) scaleMemory(p *lang.Phase) (Edit, bool) {
	const scale = `scale "oom_host" { memory = 1.5 }`
	by, _ := p.Retry.ScaleFor(oomHost)
	scales, retries := by.Memory > 1, p.Retry.Covers(oomHost)
	e, written := a.into(p, scale, "retry")
	switch {
	case scales && retries:
		return Edit{}, false
	case !written:
		return a.add(p, "retry {\n  on = [\"oom\"]\n  "+scale+"\n}"), true
	case retries:
		return e, true
	}
	on, _ := a.attr(p, "on", "retry")
	list, more := a.text(on), `concat(`+a.text(on)+`, ["oom"])`
	if inner, ok := strings.CutPrefix(list, "["); ok {
		more = "[" + strings.TrimRight(strings.TrimSuffix(inner, "]"), ", \n\t") + `, "oom"]`
	}
	if !scales && e.Before != "" { // a block on one line, which has room for one thing
		e.After = strings.Replace(e.After, list, more, 1)
		return e, true
	}
	e = a.edit(on, more)
	e.After = strings.Replace(e.Before, list, more, 1)
	if !scales {
		e.After += "\n" + scale
	}
	return e, true
}

// at says where in the grid launches are, "" where that is everywhere.
func (a *adviser) at(g *group, some []launch) string {
	if text := g.corner(some); text != "" {
		return ", all where " + text
	}
	return ""
}
