package ledger

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Tariff is how launches on one place are charged.
type Tariff struct {
	Price     offer.Price
	WholeNode bool
}

// Ceiling is one launch at its full walltime, as the planner prices it.
func (t Tariff) Ceiling(s offer.Shape) state.Amounts {
	out := state.Amounts{}
	cost, _ := place.Cost(s, t.Price, t.WholeNode, s.Walltime)
	for unit, d := range cost {
		if !d.IsZero() {
			out[unit] = d.String()
		}
	}
	return out
}

// Ceilings are those of several launches.
func (t Tariff) Ceilings(shapes []offer.Shape) (out []Amounts) {
	for _, s := range shapes {
		cost, _ := place.Cost(s, t.Price, t.WholeNode, s.Walltime)
		out = append(out, priced(cost))
	}
	return out
}

// Cost is what a launch took; known is false where its price is not known.
func (t Tariff) Cost(s offer.Shape, elapsed time.Duration) (a Amounts, known bool) {
	if !t.charges() && !t.WholeNode && s.Nodes <= 1 {
		// Only hours: the common case, and exact in integers.
		a[cpuHours] = hours(int64(max(s.CPUs, 1)), elapsed)
		a[gpuHours] = hours(int64(s.GPUs), elapsed)
		return a, true
	}
	cost, known := place.Cost(s, t.Price, t.WholeNode, elapsed)
	return priced(cost), known || !t.Price.Known && !t.charges()
}

func hours(n int64, d time.Duration) int64 {
	const perHour = int64(time.Hour)
	h, rest := n*int64(d)/perHour, n*int64(d)%perHour
	return h*1e9 + int64(float64(rest)/float64(perHour)*1e9)
}

func (t Tariff) charges() bool {
	p := t.Price
	return p.USDPerGPUHour != "" || p.USDPerHour != "" || p.SUPerGPUHour != "" || p.SUPerNodeHour != "" || p.SUPerCPUHour != ""
}

// Paid reports whether launches cost money.
func (t Tariff) Paid() bool {
	return t.Price.Known && (positive(t.Price.USDPerGPUHour) || positive(t.Price.USDPerHour))
}

func positive(rate string) bool {
	d, err := decimal.NewFromString(rate)
	return err == nil && d.IsPositive()
}
