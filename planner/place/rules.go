package place

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
)

// The decisions of a rule; any other word is a backend.
const (
	useLocal           = "local"
	useCheapestSoonest = "cheapest_soonest"
	useCheapest        = "cheapest"
	useSoonest         = "soonest"
	useOrder           = "order"
	useRentalIfPressed = "rental_if_urgent_or_long"
	useProduction      = "production"
)

// The bounds of the default table (planner.md, Placement).
const (
	tinyCPU  = 30 * time.Minute
	shortGPU = time.Hour
	midGPU   = 8 * time.Hour
	longWait = 4 * time.Hour // the default of policy.long_wait
)

// rule finds the rule that decides for a group: its own preference, the
// campaign's rules, then the default table.
func (in Input) rule(g Group, fits []option) (use, why string, diags diag.List) {
	if g.Prefer != "" && !g.Smoke {
		return g.Prefer, "place prefers " + g.Prefer, nil
	}
	scope := lang.RuleScope{Shape: g.Shape, Jobs: g.Jobs, Urgent: in.Urgent, Long: in.long(g, fits), Smoke: g.Smoke}
	if g.Phase != nil {
		scope.Phase = g.Phase.Name
	}
	for i, r := range in.Policy.Rules {
		holds, more := r.When(scope)
		diags.Append(more...)
		if !holds {
			continue
		}
		why = fmt.Sprintf("rule %d of policy", i+1)
		if strings.Contains(r.Use, ".") && !slices.ContainsFunc(fits, func(o option) bool { return o.pool.Backend == r.Use }) {
			why += fmt.Sprintf(" names %s, which cannot take it", r.Use)
		}
		return r.Use, why, diags
	}
	use, why = table(g, scope, slices.ContainsFunc(fits, func(o option) bool { return isLocal(o.pool.Backend) }))
	return use, why, diags
}

// table is the default table; here tells whether this machine is a place that fits.
func table(g Group, s lang.RuleScope, here bool) (use, why string) {
	w := g.Shape.Walltime
	switch {
	case g.Smoke:
		return useCheapestSoonest, "a smoke goes to the cheapest pool of its environment that starts soonest"
	case g.Shape.GPUs == 0 && w > 0 && w < tinyCPU && here:
		return useLocal, "CPU work under 30 min runs on this machine if allowed"
	case g.Shape.GPUs == 0:
		return useCheapestSoonest, "CPU work goes to the cheapest place that starts soonest"
	case w > 0 && w < shortGPU:
		return useCheapestSoonest, "GPU work under 1 h goes to the cheapest GPU that starts soonest"
	case w > 0 && w <= midGPU && s.Urgent:
		return useRentalIfPressed, "urgent GPU work of 1 to 8 h is rented if allowed"
	case w > 0 && w <= midGPU && s.Long:
		return useRentalIfPressed, "GPU work of 1 to 8 h is rented if allowed, because the queue is long"
	}
	return useProduction, "GPU work goes to the production pool"
}

// pressed reports whether work is urgent, or its queue is long.
func (in Input) pressed(g Group, fits []option) bool { return in.Urgent || in.long(g, fits) }

// long reports whether the wait at the production pool is longer than the
// policy bears, or than the job itself.
func (in Input) long(g Group, fits []option) bool {
	limit := in.Policy.LongWait
	if limit == 0 {
		limit = longWait
	}
	first := in.order(useProduction, false).best(fits)
	wait := max(first.wait, 0)
	return wait > limit || g.Shape.Walltime > 0 && wait > g.Shape.Walltime
}
