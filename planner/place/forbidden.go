package place

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// forbidden says by which list a policy keeps a backend out.
func forbidden(p lang.Policy, backend string) string {
	if slices.Contains(p.Deny, backend) {
		return "deny in policy keeps it out"
	}
	return "allow in policy does not name it"
}

// forbiddenFits names the places that would do but for the policy, as a part
// of the error that nothing fits; "" where there is none.
func (in Input) forbiddenFits(g Group, quotes map[string]offer.Quote) string {
	var out strings.Builder
	for _, n := range in.named(g) {
		if in.Policy.Permits(n) {
			continue
		}
		for _, o := range fitting(in.options(g, []string{n}, quotes)) {
			out.WriteString("\n\n" + strings.TrimSuffix(n+", "+o.pool.Name, ", ") + " fits, but " + forbidden(in.Policy, n) + ".")
			break
		}
	}
	return out.String()
}

// OverflowTakes says of a phase's overflow which of its jobs go there.
const OverflowTakes = "overflow: takes jobs that would wait, where that ends the phase sooner (with a deadline, where that would be missed) and the budgets cover it"

// Unlisted are the candidates that a decision does not mention, since no pool
// of theirs was compared, each with the reason. over are those of the phase's
// overflow.
func (in Input) Unlisted(g Group, over []string, d Decision) (out []Candidate) {
	add := func(n, why string) {
		listed := func(c Candidate) bool { return c.Backend == n }
		if !slices.ContainsFunc(d.Candidates, listed) && !slices.ContainsFunc(out, listed) {
			out = append(out, Candidate{Backend: n, Why: why, Wait: -1})
		}
	}
	for _, n := range slices.Concat(in.named(g), over) {
		away, silent := in.Unreachable[n]
		switch {
		case !in.Policy.Permits(n):
			add(n, forbidden(in.Policy, n))
		case silent:
			add(n, "cannot be asked: "+away)
		case slices.Contains(over, n):
			add(n, OverflowTakes)
		default:
			add(n, "its resources are unknown")
		}
	}
	return out
}
