package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers/offer"
)

// manyJobs is from how many independent jobs on they are submitted as an
// array, where the pool runs arrays (planner.md, Placement).
const manyJobs = 50

// Decide places each group. The decisions have the order of the groups; a group that fits
// nowhere gets a zero Decision with its candidates, and an error that names a shape that would
// fit.
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
	fits := fitting(options)
	if len(fits) == 0 {
		if why := in.away(g, names, options); why != "" {
			return Decision{Shape: g.Shape, Candidates: list(options, nil, nil), Away: why}
		}
		d := nothingFits(g, names, options, in.Unreachable)
		d.Detail += in.forbiddenFits(g, quotes) + in.unnamed(g)
		diags.Append(d)
		return Decision{Shape: g.Shape, Candidates: list(options, nil, nil)}
	}
	use, why, more := in.rule(g, fits)
	diags.Append(more...)
	order := in.order(use, in.pressed(g, fits))
	best := order.best(fits)
	p := best.pool
	if p.Testing && !g.Shape.Smoke {
		diags.Append(forTestsOnly(g, p))
	}
	d := Decision{
		Backend: p.Backend, Pool: p.Name, Kind: p.Kind, Word: p.Word, GPUClass: in.gpuClass(g.Shape, p), Shape: best.shape,
		Price: best.price, WholeNode: p.WholeNode, Wait: best.wait, Waited: best.waited, Boot: best.boot, Hold: best.hold, Segments: best.segments, Limits: best.limits, Array: p.Arrays && g.Jobs >= manyJobs,
		Rule: use, Why: why, Fallback: in.fallback(g, names, best, order, options), Candidates: list(options, &best, order),
	}
	d.Beside = in.beside(d, g, best, order, fits, options)
	return d
}

// away says which candidate of a begun campaign would do, as far as is known,
// and cannot be asked, or has its machines down; or which candidate of any
// campaign nobody asked. "" when there is none.
func (in Input) away(g Group, names []string, options []option) string {
	for _, n := range names {
		why, ok := in.Unreachable[n]
		if !in.Unasked[n] && (!in.Begun || g.Smoke) {
			continue
		}
		known := func(o option) bool { return o.pool.Backend == n }
		if ok && (!slices.ContainsFunc(options, known) || slices.ContainsFunc(options, func(o option) bool { return known(o) && o.away })) {
			return n + " cannot be asked: " + why
		}
		if i := slices.IndexFunc(options, func(o option) bool { return known(o) && o.bad.passing }); i >= 0 {
			return n + ": " + options[i].bad.why
		}
	}
	return ""
}

// gpuClass is the family shown for a job's devices: the requested one, where that is met; ""
// when any GPU would do.
func (in Input) gpuClass(s offer.Shape, p offer.Pool) string {
	if s.GPUs == 0 || len(s.GPU.Models) == 0 {
		return ""
	}
	return p.Family(in.Pools)
}

// candidates are the backends that may be considered, in order. Without a
// place, CPU work goes to this machine; GPU work is placed by the table.
func (in Input) candidates(g Group) []string {
	return slices.DeleteFunc(slices.Clone(in.named(g)), func(n string) bool { return !in.Policy.Permits(n) })
}

// named are the backends that a group names, those that the policy keeps out
// included.
func (in Input) named(g Group) (names []string) {
	if len(g.Candidates) > 0 {
		return g.Candidates
	}
	if g.Shape.GPUs == 0 {
		return []string{"local.local"}
	}
	for _, b := range in.Backends {
		names = append(names, b.Address())
	}
	return names
}

// unnamed says, where a job fits nowhere that names no place, that the
// campaign's other backends were not looked at.
func (in Input) unnamed(g Group) string {
	if len(g.Candidates) > 0 || g.Shape.GPUs > 0 {
		return ""
	}
	var others []string
	for _, b := range in.Backends {
		if name := b.Address(); name != "local.local" && in.Policy.Permits(name) {
			others = append(others, "backend."+name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("\n\nWithout place, work that asks for no GPU goes to this machine alone. To let it go elsewhere: place { candidates = [%s] }.", strings.Join(others, ", "))
}

// fallback says that the first choice was not taken because it could not be,
// and which that was: the candidate the rule would have chosen, had it been
// there. Where no place names candidates there is none that was to be first.
func (in Input) fallback(g Group, names []string, best option, order ranking, options []option) string {
	for _, n := range names {
		why, away := in.Unreachable[n]
		if !away || n == best.pool.Backend {
			continue
		}
		known := slices.ContainsFunc(options, func(o option) bool { return o.pool.Backend == n })
		better := slices.ContainsFunc(options, func(o option) bool { return o.pool.Backend == n && o.away && order.compare(o, best) < 0 })
		if better || !known && n == names[0] {
			return fmt.Sprintf("%s cannot be asked (%s): %s instead", n, why, best.pool.Backend)
		}
	}
	if len(names) == 0 || names[0] == best.pool.Backend || len(g.Candidates) == 0 {
		return ""
	}
	for _, o := range options {
		if o.pool.Backend == names[0] && (o.bad == nil || o.away) {
			return "" // it fits, and lost by the rule
		}
	}
	return fmt.Sprintf("%s does not fit: %s instead", names[0], best.pool.Backend)
}
