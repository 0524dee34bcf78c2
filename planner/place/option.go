package place

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// An option is one pool with everything that is compared.
type option struct {
	pool     offer.Pool
	price    offer.Price
	wait     time.Duration
	waited   bool          // that wait is not quoted, but seen
	others   time.Duration // that jobs were seen to wait in other pools of the backend; 0 = not known
	boot     time.Duration
	hold     time.Duration
	segments int
	waves    int          // of jobs, one after another, as many at once as the pool runs
	limits   offer.Limits // of the shape, where they are not the pool's
	shape    offer.Shape  // with the jobs that it shares a node with
	order    int          // of its backend among the candidates
	cost     map[string]decimal.Decimal
	known    Known // in which units the cost is
	rental   bool
	cpuOnly  bool // the job asks for no GPU
	away     bool // would fit, but its backend cannot be asked
	bad      *misfit
}

// fitting are the options that a job may take.
func fitting(options []option) []option {
	return slices.DeleteFunc(slices.Clone(options), func(o option) bool { return o.bad != nil })
}

func (in Input) options(g Group, names []string, quotes map[string]offer.Quote) []option {
	var out []option
	for order, name := range names {
		typ, _, _ := strings.Cut(name, ".")
		asked := g.Shape
		asked.Options = string(g.Options[typ]) // as its backend was asked for it
		key := asked.Key()
		first := len(out)
		var said []offer.Quote
		for _, p := range in.Pools {
			if p.Backend == name {
				q := quotes[quoteKey(p.Backend, p.Name, key)]
				out, said = append(out, in.option(g, p, order, q)), append(said, q)
			}
		}
		seen(out[first:])
		if alike(said) {
			for i := range out[first:] { // other shortcomings of its pools do not matter
				out[first+i].bad = &misfit{why: said[0].Why, would: said[0].Would}
			}
		}
	}
	return out
}

// alike reports whether a backend gives one answer for all its pools: then the request is
// wrong for each, and a shorter walltime would not help.
func alike(said []offer.Quote) bool {
	return len(said) > 1 && said[0].Why != "" && !slices.ContainsFunc(said, func(q offer.Quote) bool {
		return q.Fits || q.Passing || q.MaxTime > 0 || q.Why != said[0].Why
	})
}

// option joins a pool's facts with its live quote; the quote wins where it
// says something.
func (in Input) option(g Group, p offer.Pool, order int, q offer.Quote) option {
	o := option{pool: p, price: p.Price, wait: p.Wait, order: order, rental: in.rents(p), cpuOnly: g.Shape.GPUs == 0}
	chained := g.Checkpoint && q.MaxTime > 0 // cut to its limit there, it fits
	cut := q.MaxTime > 0 && (p.MaxTime == 0 || q.MaxTime < p.MaxTime)
	lifted := q.Fits && q.MaxTime > p.MaxTime // longer than the pool is for others
	o.limits = offer.Limits{MaxJobs: q.MaxJobs, MaxSubmit: q.MaxSubmit, SubmitBy: q.SubmitBy, Most: q.Most, MostBy: q.MostBy}
	if chained || cut || lifted {
		p.MaxTime, o.limits.MaxTime = q.MaxTime, q.MaxTime
	}
	if p.Testing && pooled(g, p) == p.Name {
		p.Testing = false // whoever names it wants it
	}
	if o.bad = otherPool(g, p); o.bad == nil {
		o.segments, o.bad = fit(p, g.Shape, g.Checkpoint)
	}
	if q.Backend != "" {
		if q.Price.Known {
			o.price = q.Price
		}
		if q.Wait >= 0 {
			o.wait = q.Wait
		}
		o.boot = q.Boot
		if !q.Fits && !chained {
			o.bad = o.bad.quoted(q)
		}
	}
	if o.wait < 0 && in.Waited != nil {
		if d, ok := in.Waited(p.Backend, p.Name); ok {
			o.wait, o.waited = max(d-o.boot, 0), true // from the submission to the start, which has the boot
		}
	}
	if o.bad == nil && g.Smoke {
		o.bad = in.wrongEnvironment(g, p)
	}
	if why, away := in.Unreachable[p.Backend]; away && o.bad == nil {
		o.away, o.bad = true, &misfit{why: p.Backend + " cannot be asked: " + why}
	}
	if o.rental {
		o.hold = in.hold(p.Backend)
	}
	o.price = in.Risen[PoolAt{p.Backend, p.Name}].Of(Payable(p, o.price, o.wait))
	o.pack(g, p)
	if most := o.limits.On(p).MostJobs(o.shape); most > 0 {
		o.waves = ceilDiv(g.Jobs, most)
	}
	o.waves = max(o.waves, 1)
	o.cost, o.known = Charged(o.shape, o.price, g.expected(), around(o.price, o.boot, o.wait), o.hold)
	return o
}

// pack has jobs share the nodes of a pool, where there are several and as many may run
// at once, and take turns in its allocations. The limits of the pool count those that share
// one as one.
func (o *option) pack(g Group, p offer.Pool) {
	o.shape = g.Shape
	beside := min(p.Packs(g.Shape), g.Jobs)
	if g.Phase != nil && g.Phase.MaxParallel > 0 {
		beside = min(beside, g.Phase.MaxParallel)
	}
	if o.segments > 1 {
		return
	}
	here := o.limits.On(p)
	n := min(max(beside, 1)*here.Turns(g.Shape, g.Takes), g.Jobs)
	if n < 2 {
		return
	}
	o.shape.Pack = n
	if n > beside {
		o.shape.Slots, o.shape.Allocation = beside, here.Longest()
	}
	if here.MaxJobs > 0 {
		o.limits.MaxJobs = here.MaxJobs * beside
	}
	if here.MaxSubmit > 0 {
		o.limits.MaxSubmit, o.limits.SubmitBy = here.MaxSubmit*n, here.SubmitBy
	}
}

// quoted adds a backend's own answer about a shape that does not fit: it knows
// limits that a pool does not show, and which of its pools would do.
func (bad *misfit) quoted(q offer.Quote) *misfit {
	switch {
	case bad == nil, q.Shut:
		return &misfit{why: q.Why, would: q.Would, passing: q.Passing}
	case bad.beside:
		bad.why = q.Why
	case bad.limit > 0 && bad.limit == q.MaxTime:
		bad.quote = q.Why
	}
	bad.would = either(bad.would, q.Would)
	return bad
}

// expected is the time at which pools are compared: from evidence, else half
// the walltime, else any that is the same for all.
func (g Group) expected() time.Duration {
	switch {
	case g.Expected > 0:
		return g.Expected
	case g.Shape.Walltime > 0:
		return g.Shape.Walltime / 2
	}
	return time.Hour
}

// rents reports whether a pool's machines are created for the job.
func (in Input) rents(p offer.Pool) bool {
	typ, _, _ := strings.Cut(p.Backend, ".")
	return in.Can[typ].Rents || p.Kind == offer.RentalPool
}

// hold is how long a backend keeps its machines after their last job.
func (in Input) hold(backend string) time.Duration {
	for _, b := range in.Backends {
		if b.Address() == backend {
			return b.Hold
		}
	}
	return 0
}

// otherPool keeps a job in the pool its options name by the site's own word:
// `options "slurm" { partition = "aa100" }`.
func otherPool(g Group, p offer.Pool) *misfit {
	if want := pooled(g, p); want != "" && want != p.Name {
		return &misfit{why: fmt.Sprintf("the job's options ask for %s %s", p.Word, want), beside: true}
	}
	return nil
}

// pooled is the pool that a job's options name, by the word of one of its
// backend's; "" where they name none.
func pooled(g Group, p offer.Pool) string {
	typ, _, _ := strings.Cut(p.Backend, ".")
	raw := g.Options[typ]
	if len(raw) == 0 || p.Word == "" || p.Name == "" {
		return ""
	}
	var named map[string]any
	if json.Unmarshal(raw, &named) != nil {
		return ""
	}
	want, _ := named[p.Word].(string)
	return want
}

// wrongEnvironment keeps a smoke in the environment class of its phase: a pass
// elsewhere proves little here. A smoke with a place of its own goes where
// that says.
func (in Input) wrongEnvironment(g Group, p offer.Pool) *misfit {
	if g.Within == "" {
		return nil
	}
	if p.Backend != g.Within {
		return &misfit{why: "the phase runs on " + g.Within}
	}
	if family := p.Family(in.Pools); g.Class != "" && g.Shape.GPUs > 0 && family != g.Class {
		return &misfit{why: fmt.Sprintf("the phase runs on %s, not %s", g.Class, orUnknown(family))}
	}
	return nil
}

func indexQuotes(quoted []Quoted) map[string]offer.Quote {
	out := make(map[string]offer.Quote, len(quoted))
	for _, q := range quoted {
		out[quoteKey(q.Quote.Backend, q.Quote.Pool, q.Shape.Key())] = q.Quote
	}
	return out
}

func quoteKey(backend, pool, shape string) string { return backend + "\x00" + pool + "\x00" + shape }
