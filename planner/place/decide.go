package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// An option is one pool with everything that is compared.
type option struct {
	pool     offer.Pool
	price    offer.Price
	wait     time.Duration
	segments int
	order    int // of its backend among the candidates
	cost     map[string]decimal.Decimal
	known    bool
	bad      *misfit
}

// Decide places each group. The decisions stand in the order of the groups; a
// group that fits nowhere gets a zero Decision with its candidates, and an
// error that says what would fit.
func Decide(in Input) ([]Decision, diag.List) {
	var diags diag.List
	out := make([]Decision, len(in.Groups))
	quotes := indexQuotes(in.Quotes)
	for i, g := range in.Groups {
		out[i] = in.decide(g, quotes, &diags)
	}
	return out, diags
}

func (in Input) decide(g Group, quotes map[string]offer.Quote, diags *diag.List) Decision {
	names := in.candidates(g)
	options := in.options(g, names, quotes)
	fits := slices.DeleteFunc(slices.Clone(options), func(o option) bool { return o.bad != nil })
	if len(fits) == 0 {
		diags.Append(nothingFits(g, names, options, in.Unreachable))
		return Decision{Shape: g.Shape, Candidates: candidates(options, nil)}
	}
	rule, why, diagsRule := in.rule(g, fits)
	diags.Append(diagsRule...)
	best := choose(rule, fits)
	d := Decision{
		Backend: best.pool.Backend, Pool: best.pool.Name, Word: best.pool.Word, GPUClass: gpuClass(g.Shape, best.pool),
		Shape: g.Shape, Price: best.price, WholeNode: best.pool.WholeNode, Wait: best.wait, Segments: best.segments,
		Rule: rule, Why: why, Candidates: candidates(options, &best),
	}
	d.Fallback = in.fallback(names, best, options)
	return d
}

// gpuClass is the family shown for a job's devices: what was asked for, where
// that is met; nothing when any GPU would do.
func gpuClass(s offer.Shape, p offer.Pool) string {
	if s.GPUs == 0 || len(s.GPU.Models) == 0 {
		return ""
	}
	return p.GPUClass
}

// candidates are the backends that may be considered, in order. Without a
// place, CPU work goes to this machine; GPU work is placed by the table.
func (in Input) candidates(g Group) []string {
	names := g.Candidates
	if len(names) == 0 {
		if g.Shape.GPUs == 0 {
			names = []string{"local.local"}
		} else {
			for _, b := range in.Backends {
				names = append(names, b.Address())
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains(in.Policy.Deny, n) || len(in.Policy.Allow) > 0 && !slices.Contains(in.Policy.Allow, n)
	})
}

func (in Input) options(g Group, names []string, quotes map[string]offer.Quote) []option {
	var out []option
	key := ShapeKey(g.Shape)
	for order, name := range names {
		for _, p := range in.Pools {
			if p.Backend != name {
				continue
			}
			out = append(out, in.option(g, p, order, quotes[p.Backend+"\x00"+p.Name+"\x00"+key]))
		}
	}
	return out
}

// option joins a pool's facts with its live quote; the quote wins.
func (in Input) option(g Group, p offer.Pool, order int, q offer.Quote) option {
	o := option{pool: p, price: p.Price, wait: p.Wait, order: order}
	o.segments, o.bad = fit(p, g.Shape, g.Checkpoint)
	if q.Backend != "" {
		o.price, o.wait = q.Price, q.Wait
		if !q.Fits && o.bad == nil {
			o.bad = &misfit{q.Why, q.Would}
		}
	}
	if why, away := in.Unreachable[p.Backend]; away && o.bad == nil {
		o.bad = &misfit{p.Backend + " cannot be asked: " + why, ""}
	}
	if o.bad == nil && g.Smoke {
		o.bad = in.wrongEnvironment(g, p)
	}
	o.cost, o.known = Cost(g.Shape, o.price, p.WholeNode, g.Expected)
	return o
}

// wrongEnvironment keeps a smoke in the environment class of its phase, for
// what passes elsewhere says little about here.
func (in Input) wrongEnvironment(g Group, p offer.Pool) *misfit {
	if g.Within != "" && p.Backend != g.Within {
		return &misfit{"the phase runs on " + g.Within, ""}
	}
	if family := Family(p, in.Pools); g.Class != "" && g.Shape.GPUs > 0 && family != g.Class {
		return &misfit{fmt.Sprintf("the phase runs on %s, not %s", g.Class, orUnknown(family)), ""}
	}
	return nil
}

func indexQuotes(quoted []Quoted) map[string]offer.Quote {
	out := make(map[string]offer.Quote, len(quoted))
	for _, q := range quoted {
		out[q.Quote.Backend+"\x00"+q.Quote.Pool+"\x00"+ShapeKey(q.Shape)] = q.Quote
	}
	return out
}

// ShapeKey is a text that is equal for equal shapes.
func ShapeKey(s offer.Shape) string {
	return fmt.Sprintf("%d/%d/%d/%s/%d/%d/%d/%d/%s/%t", s.CPUs, s.Memory, s.GPUs, strings.Join(s.GPU.Models, ","), s.GPU.Memory, s.Disk, s.Nodes, s.Walltime, s.Options, s.Smoke)
}

// choose applies a rule to the pools that fit. Ties are broken by expected
// cost, then by wait, then by the order written, then by name, so that the
// same plan comes out every time.
func choose(rule string, fits []option) option {
	compare := []func(a, b option) int{byCost, byWait, byOrder}
	switch rule {
	case useOrder, useProduction:
		compare = []func(a, b option) int{byOrder, byCost, byWait}
	case useSoonest, useRentalIfPressed:
		compare = []func(a, b option) int{byWait, byCost, byOrder}
	case useCheapest, useCheapestSoonest:
	default: // "local", or a backend by name
		compare = append([]func(a, b option) int{byName(rule)}, compare...)
	}
	return slices.MinFunc(fits, func(a, b option) int {
		if c := cmp.Compare(keepsGPUs(a), keepsGPUs(b)); c != 0 {
			return c
		}
		for _, f := range compare {
			if c := f(a, b); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.pool.Backend+a.pool.Name, b.pool.Backend+b.pool.Name)
	})
}

// keepsGPUs ranks pools that would idle GPUs beside CPU work last.
func keepsGPUs(o option) int {
	if o.cost[GPUHours].IsZero() && o.pool.GPUs > 0 && o.pool.Word != "machine" {
		return 1
	}
	return 0
}

func byCost(a, b option) int {
	if a.known != b.known {
		if a.known {
			return -1
		}
		return 1
	}
	for _, unit := range []string{USD, ServiceUnits} {
		if c := a.cost[unit].Cmp(b.cost[unit]); c != 0 {
			return c
		}
	}
	return 0
}

func byWait(a, b option) int { return cmp.Compare(known(a.wait), known(b.wait)) }

// known counts an unknown wait as none: it is said on the plan.
func known(d time.Duration) time.Duration { return max(d, 0) }

// byName prefers the backend that a rule names; "local" is the local type.
func byName(name string) func(a, b option) int {
	rank := func(o option) int {
		if o.pool.Backend == name || name == useLocal && strings.HasPrefix(o.pool.Backend, "local.") {
			return 0
		}
		return 1
	}
	return func(a, b option) int { return cmp.Compare(rank(a), rank(b)) }
}

func byOrder(a, b option) int { return cmp.Compare(a.order, b.order) }

// fallback says that the first choice was not taken because it was away.
func (in Input) fallback(names []string, best option, options []option) string {
	if len(names) == 0 || best.pool.Backend == names[0] {
		return ""
	}
	if why, away := in.Unreachable[names[0]]; away {
		return fmt.Sprintf("%s cannot be asked (%s): %s instead", names[0], why, best.pool.Backend)
	}
	for _, o := range options {
		if o.pool.Backend == names[0] && o.bad == nil {
			return "" // it fitted and lost by the rule
		}
	}
	return fmt.Sprintf("%s does not fit: %s instead", names[0], best.pool.Backend)
}

func candidates(options []option, best *option) []Candidate {
	var out []Candidate
	for _, o := range options {
		c := Candidate{Backend: o.pool.Backend, Pool: o.pool.Name, Fits: o.bad == nil, Wait: o.wait, Price: o.price, WholeNode: o.pool.WholeNode, Cost: map[string]string{}}
		for unit, v := range o.cost {
			c.Cost[unit] = v.Round(4).String()
		}
		switch {
		case o.bad != nil:
			c.Why, c.Would = o.bad.why, o.bad.would
		case best != nil && o.pool.Backend == best.pool.Backend && o.pool.Name == best.pool.Name:
			c.Won = true
		case best != nil:
			c.Why = lost(o, *best)
		}
		out = append(out, c)
	}
	return out
}

func lost(o, best option) string {
	switch {
	case keepsGPUs(o) > keepsGPUs(best):
		return "would idle its GPUs"
	case byCost(o, best) > 0:
		return "costs more"
	case byWait(o, best) > 0:
		return "starts later: about " + units.ShortDuration(o.wait)
	case byOrder(o, best) > 0:
		return "stands later in candidates"
	}
	return "lost by the rule"
}

func nothingFits(g Group, names []string, options []option, away map[string]string) diag.Diagnostic {
	d := diag.Diagnostic{Summary: "no place fits", In: fmt.Sprintf("phase %q", g.Phase.Name), Address: "phase." + g.Phase.Name, Subject: g.Phase.Range.Ptr()}
	if g.Smoke {
		d.Summary = "no place fits the smoke"
	}
	var lines, would []string
	for _, o := range options {
		lines = append(lines, "  "+strings.TrimSuffix(o.pool.Backend+", "+o.pool.Name, ", ")+": "+o.bad.why)
		if o.bad.would != "" {
			would = append(would, o.bad.would)
		}
	}
	for _, n := range names {
		if why, ok := away[n]; ok && !slices.ContainsFunc(options, func(o option) bool { return o.pool.Backend == n }) {
			lines = append(lines, "  "+n+" cannot be asked: "+why)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "  no candidate is left: see place, and allow and deny in policy")
	}
	d.Detail = "Every candidate was looked at:\n" + strings.Join(lines, "\n")
	if slices.Sort(would); len(would) > 0 {
		d.Detail += "\n\nWhat would fit: " + strings.Join(slices.Compact(would), "; ") + "."
	}
	return d
}
