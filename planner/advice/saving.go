package advice

import (
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Units of savings beside those of a plan.
const (
	WaitHours = "wait_hours" // that jobs are in a queue, summed over jobs
	RunHours  = "run_hours"  // that launches run, summed
)

// units is the order in which savings are listed.
var savedUnits = []string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours, WaitHours, RunHours}

// A tally adds up the savings of a change.
type tally struct {
	by      map[string]decimal.Decimal
	guessed bool // a saving in money or service units, by a guessed price
}

func (t *tally) add(unit string, v decimal.Decimal) {
	if v.IsZero() {
		return
	}
	if t.by == nil {
		t.by = map[string]decimal.Decimal{}
	}
	t.by[unit] = t.by[unit].Add(v)
}

func (t *tally) list(of string, atMost bool) []Saving {
	var out []Saving
	for _, u := range savedUnits {
		if v := t.by[u].Round(3); v.IsPositive() { // less is nothing to act upon
			out = append(out, Saving{Unit: u, Amount: v.String(), Of: of, AtMost: atMost, Estimated: place.Guessed(offer.Price{Estimated: t.guessed}, u)})
		}
	}
	return out
}

// pool is where a launch ran, as its backend describes it now; the zero pool
// where that is not known.
func (a *adviser) pool(l launch) offer.Pool {
	at := slices.IndexFunc(a.Pools, func(p offer.Pool) bool { return p.Backend == l.At.Backend && p.Name == l.At.Pool })
	if at < 0 {
		return offer.Pool{Backend: l.At.Backend, Name: l.At.Pool}
	}
	return a.Pools[at]
}

// charged adds the cost of a shape on a pool for a time, times a factor, and
// says which units of it are known. Where whole nodes are charged, the free part
// of a job's node is charged, too.
func (t *tally) charged(s offer.Shape, p offer.Pool, d time.Duration, times decimal.Decimal) place.Known {
	amounts, known := place.Cost(s, place.NodePrice(p, p.Price), d)
	for unit, v := range amounts {
		byNode := p.WholeNode || s.Nodes > 1 || p.Price.SUPerNodeHour != ""
		if p.WholeNode && (unit == place.CPUHours || unit == place.GPUHours) || unit == place.NodeHours && !byNode {
			continue
		}
		t.add(unit, v.Mul(times))
	}
	t.guessed = t.guessed || p.Price.Estimated
	return known
}

// spared is how much less launches would have cost with another shape, scaled
// to the remaining jobs, where there are any.
func (a *adviser) spared(c *class, change func(offer.Shape) offer.Shape) []Saving {
	return a.sparedOn(c, change, func(p offer.Pool) offer.Pool { return p })
}

func (a *adviser) sparedOn(c *class, change func(offer.Shape) offer.Shape, move func(offer.Pool) offer.Pool) []Saving {
	t, ran := tally{}, 0
	for _, l := range c.launches {
		if l.Completed {
			ran++
		}
	}
	scale, of := a.scale(c, ran)
	known := place.Known{USD: true, ServiceUnits: true}
	for _, l := range c.launches {
		d, p, s := history.Elapsed(l.At), a.pool(l), c.shape(l.Cell)
		was, is := t.charged(s, p, d, scale), t.charged(change(s), move(p), d, scale.Neg())
		known = known.And(was).And(is)
	}
	maps.DeleteFunc(t.by, func(unit string, _ decimal.Decimal) bool { return !known.Of(unit) }) // it is saved for something else
	return t.list(of, false)
}

// scale turns the jobs that ran into those that remain.
func (a *adviser) scale(c *class, ran int) (decimal.Decimal, string) {
	if c.left == 0 || ran == 0 {
		return decimal.NewFromInt(1), "of the " + count(ran, "job", "jobs") + " that ran"
	}
	return decimal.NewFromInt(int64(c.left)).DivRound(decimal.NewFromInt(int64(ran)), 9), "of the " + count(c.left, "job", "jobs") + " left"
}

// ceiling is by how much less the most that jobs may cost becomes.
func (a *adviser) ceiling(c *class, walltime time.Duration) []Saving {
	t, n, of := tally{}, c.left, "of the "+count(c.left, "job", "jobs")+" left"
	if n == 0 {
		n, of = c.jobs, "of "+count(c.jobs, "job", "jobs")
	}
	times := decimal.NewFromInt(int64(n * max(c.phase.Retry.Max, 1)))
	if len(c.launches) == 0 {
		return nil
	}
	l := c.launches[len(c.launches)-1]
	s, p := c.shape(l.Cell), a.pool(l)
	t.charged(s, p, s.Walltime, times)
	t.charged(s, p, walltime, times.Neg())
	return t.list(of, true)
}

func sorted(v []float64) []float64 {
	slices.Sort(v)
	return v
}

func hours(d time.Duration) decimal.Decimal { return place.Hours(d) }
