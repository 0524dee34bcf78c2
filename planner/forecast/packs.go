package forecast

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// packed reports whether a group's jobs are still to share nodes: submitted ones have their
// share recorded.
func (g Group) packed() bool {
	return g.Decision.Shape.Pack > 1 && !g.InFlight && !g.Queued && len(g.Aside) == 0
}

// unpacked is a group whose jobs have their nodes alone.
func (g Group) unpacked() Group {
	if !g.packed() {
		return g
	}
	g.Decision.Shape = g.Decision.Shape.Alone()
	g.Shapes = slices.Clone(g.Shapes)
	for i := range g.Shapes {
		g.Shapes[i] = g.Shapes[i].Alone()
	}
	return g
}

// A packKey is common to the jobs that share nodes.
type packKey struct{ phase, pool, shape string }

func packOf(phase string, g Group) packKey {
	return packKey{phase, poolKey(g.Decision.Backend, g.Decision.Pool), g.Decision.Shape.Key()}
}

// packsIn is by how much the nodes of packed jobs exceed the sum of the jobs'
// shares: of 18 jobs in packs of 4, two places stay empty.
func packsIn(in Input) map[packKey]decimal.Decimal {
	jobs, of := map[packKey]int{}, map[packKey]offer.Shape{}
	eachGroup(in, func(phase string, g Group, n int) {
		if g.packed() {
			k := packOf(phase, g)
			jobs[k], of[k] = jobs[k]+n, g.Decision.Shape
		}
	})
	out := map[packKey]decimal.Decimal{}
	for k, n := range jobs {
		s := of[k]
		turns := n / s.Pack * s.Turns()
		if last := n % s.Pack; last > 0 {
			turns += s.Together(last).Turns()
		}
		out[k] = decimal.NewFromInt(int64(turns*s.Pack)).DivRound(decimal.NewFromInt(int64(n*s.Turns())), 18)
	}
	return out
}

// A charge is how launches are charged where a decision puts them.
type charge struct {
	place.Decision
	fill  decimal.Decimal // of the charge of nodes; zero = unchanged
	share *share          // of rented machines; nil = none
}

// filled is the charge of a group's launches.
func (g Group) filled(d place.Decision) charge {
	c := charge{Decision: d, share: g.share}
	if d.Shape.Pack > 1 {
		c.fill = g.fill
	}
	return c
}

// whole is an amount with the charge of its nodes' empty places.
func (c charge) whole(unit string, v decimal.Decimal) decimal.Decimal {
	if c.fill.IsZero() || unit != place.USD && unit != place.ServiceUnits && unit != place.NodeHours {
		return v
	}
	return v.Mul(c.fill)
}
