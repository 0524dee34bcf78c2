package advice

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// leastWait is the median wait from which jobs that run for less are said to
// wait. Below it the scheduler takes its turns, whatever the size of a job:
// slurm.conf(5) starts jobs every 30 s (bf_interval) to 60 s (sched_interval),
// and a person would not rewrite a job for it.
const leastWait = 10 * time.Minute

// split finds jobs on several GPUs that wait longer than they run, or longer
// than the policy's long_wait: two jobs of half the size find a gap sooner.
func (a *adviser) split(g *group) []Proposal {
	var out []Proposal
	for _, c := range g.classes(askedGPUs) {
		if c.asked < 2 {
			continue
		}
		waits := measures(c.launches, usedWait)
		run := time.Duration(median(measures(c.launches, usedTurn)))
		wait := time.Duration(median(waits))
		if len(waits) < enough || run == 0 || wait <= a.long() && (wait <= run || wait < leastWait) {
			continue
		}
		half := int(c.asked) / 2
		p := Proposal{Phase: g.phase.Name, Kind: "split", Title: fmt.Sprintf("Split the jobs: ask for %s instead of %.0f", count(half, "GPU", "GPUs"), c.asked), Jobs: c.who(), Edit: a.asked(g, "gpus", fmt.Sprint(half)),
			Why: fmt.Sprintf("The median of %s waited %s and ran %s.", count(len(waits), "launch", "launches"), brief(wait), brief(run))}
		smaller, from := a.waitOf(half, c.launches[0].At.Backend)
		switch {
		case from == 0:
			p.Why += fmt.Sprintf(" The wait of jobs on %s is unknown: try one.", count(half, "GPU", "GPUs"))
		case smaller+run >= wait: // twice the runtime takes more than the queue gives back
			continue
		default:
			p.Why += fmt.Sprintf(" Jobs on at most %s waited %s there (%s).", count(half, "GPU", "GPUs"), brief(smaller), count(from, "launch", "launches"))
			n, of := c.left, "of the "+count(c.left, "job", "jobs")+" left"
			if n == 0 {
				n, of = c.jobs, "of "+count(c.jobs, "job", "jobs")
			}
			t := tally{}
			t.add(WaitHours, hours(wait-smaller).Mul(decimal.NewFromInt(int64(n))))
			p.Saves = t.list(of, false)
		}
		longest := time.Duration(most(measures(c.launches, c.usedTime)))
		if wall := g.shape(c.launches[0].Cell).Walltime; wall > 0 && 2*longest > wall {
			p.Why += fmt.Sprintf(" On half the GPUs a job may take twice as long: raise walltime from %s to %s with it.", units.ShortDuration(wall), units.ShortDuration(timeLike(time.Duration(2*aboveTime*float64(longest)))))
		}
		out = append(out, p)
	}
	return out
}

// usedWait is how long a launch stood in a queue.
func usedWait(l launch) (float64, bool) {
	if l.At.Queued.IsZero() || l.At.Started.IsZero() {
		return 0, false
	}
	return float64(history.Waited(l.At)), true
}

// long is from when on a wait counts as long.
func (a *adviser) long() time.Duration { return a.Campaign.Policy.LongWait }

// waitOf is the median wait on a backend of launches with some GPUs, but no
// more than so many, and how many they were.
func (a *adviser) waitOf(gpus int, backend string) (time.Duration, int) {
	var waits []float64
	for _, g := range gather(a.Input, nil) {
		for _, l := range g.launches {
			if s := g.shape(l.Cell); l.At.Backend == backend && s.GPUs > 0 && s.GPUs <= gpus {
				if w, ok := usedWait(l); ok {
					waits = append(waits, w)
				}
			}
		}
	}
	return time.Duration(median(sorted(waits))), len(waits)
}

// beside is the wait that a smaller shape saves where cores and memory belong
// to one machine: more jobs run beside one another.
func (a *adviser) beside(c *class, change func(offer.Shape) offer.Shape) []Saving {
	if len(c.launches) == 0 || c.left < 2 {
		return nil
	}
	l := c.launches[len(c.launches)-1]
	p, s := a.pool(l), c.shape(l.Cell)
	if !p.OneMachine() {
		return nil
	}
	was, will := atOnce(p, s), atOnce(p, change(s))
	run := time.Duration(median(measures(c.launches, c.usedTime)))
	if was == 0 || will <= was || run == 0 {
		return nil
	}
	rounds := func(n int) int { return (c.left + n - 1) / n }
	t := tally{}
	t.add(WaitHours, place.Hours(run).Mul(decimal.NewFromInt(int64(rounds(was)-rounds(will)))))
	return t.list(fmt.Sprintf("until the %s left are done: %d beside one another instead of %d", count(c.left, "job", "jobs"), min(will, c.left), was), false)
}

// atOnce is how many jobs of a shape one machine holds; 0 = unknown.
func atOnce(p offer.Pool, s offer.Shape) int {
	n := 0
	fit := func(have, need int64) {
		if have > 0 && need > 0 && (n == 0 || int(have/need) < n) {
			n = int(have / need)
		}
	}
	fit(int64(p.CPUs), int64(max(s.CPUs, 1)))
	fit(p.Memory, s.Memory)
	fit(int64(p.GPUs), int64(s.GPUs))
	if p.MaxJobs > 0 && (n == 0 || p.MaxJobs < n) {
		n = p.MaxJobs
	}
	return n
}
