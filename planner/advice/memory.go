package advice

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/evidence"
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

const memoryMargin = "20 % above the most that was used, rounded up: a job is asked for anew with MaxRSS × 1.2"

// memory compares what was asked for of host memory with the most that any
// launch had in use.
func (a *adviser) memory(g *group) []Proposal {
	var out []Proposal
	for _, c := range g.classes(askedMemory) {
		killed := failed(c.launches, oomHost, oomSched)
		used := measures(c.launches, usedMemory)
		switch {
		case len(killed) > 0:
			out = append(out, a.moreMemory(c, killed, most(used))...)
		case c.asked > 0 && len(used) >= enough && c.asked > offBy*max(most(used), evidence.LittleMemory):
			value := sizeLike(max(most(used)*aboveUse, evidence.LittleMemory), a.sizeText(g, "memory", c.asked))
			size, err := units.ParseSize(value)
			if err != nil || float64(size) >= c.asked {
				continue
			}
			p := Proposal{Phase: g.phase.Name, Kind: "memory", Title: "Ask for less memory", Jobs: c.who(), Edit: a.asked(g, "memory", quoted(value)), Margin: memoryMargin,
				Why: fmt.Sprintf("%s asked for, and the most that any of %s used was %s.", units.FormatSize(int64(c.asked)), count(len(used), "measured launch", "measured launches"), units.FormatSize(int64(most(used))))}
			p.Saves = a.spared(c, func(s offer.Shape) offer.Shape { s.Memory = size; return s })
			p.Saves = append(p.Saves, a.beside(c, func(s offer.Shape) offer.Shape { s.Memory = size; return s })...)
			out = append(out, p)
		}
	}
	return out
}

// moreMemory follows launches that were killed for their memory: many alike
// mean that the phase asks for too little, few are a corner that retry scales.
func (a *adviser) moreMemory(c *class, killed []launch, used float64) []Proposal {
	share := float64(len(killed)) / float64(len(c.launches))
	why := fmt.Sprintf("%d of %s ran out of memory%s.", len(killed), count(len(c.launches), "launch", "launches"), a.at(c.group, killed))
	if share < often {
		e, ok := a.scaleMemory(c.phase)
		if !ok {
			return nil // the next launch of each gets more
		}
		return []Proposal{{Phase: c.phase.Name, Kind: "retry", Title: "Give the few jobs that run out of memory more, and no others", Jobs: c.who(), Edit: e, Why: why + " That is a corner of the grid, not the phase."}}
	}
	if c.asked == 0 && used == 0 {
		return nil
	}
	need, margin := enoughMemory(c, killed, used)
	value := sizeLike(need, a.sizeText(c.group, "memory", c.asked))
	t := tally{}
	for _, l := range killed {
		t.charged(c.shape(l.cell), a.pool(l), elapsed(l), one)
		t.add(RunHours, place.Hours(elapsed(l)))
	}
	return []Proposal{{Phase: c.phase.Name, Kind: "memory", Title: "Ask for more memory", Jobs: c.who(), Edit: a.asked(c.group, "memory", quoted(value)), Why: why, Margin: margin,
		Saves: t.list("that the "+count(len(killed), "killed launch", "killed launches")+" took", false)}}
}

// nearlyAll is from what share of the memory that was given on the most that was
// measured tells how much is needed; below it the peak was not seen.
const nearlyAll = 0.75

// enoughMemory is how much, in bytes, the jobs of a class need, of which some ran out
// of memory: these needed more than they were given.
func enoughMemory(c *class, killed []launch, used float64) (need float64, margin string) {
	given := c.asked
	for _, l := range killed {
		given = max(given, float64(evidence.Given(c.phase, l.cell, l.at)))
	}
	for _, l := range c.launches {
		if had := float64(evidence.Given(c.phase, l.cell, l.at)); l.completed && had > given && (need == 0 || had < need) {
			need = had
		}
	}
	switch {
	case need > 0:
		return need, "what sufficed for a launch that was given more"
	case used < nearlyAll*given:
		return 2 * given, "twice what was given, for the peak was not measured: how much they need is not known"
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
