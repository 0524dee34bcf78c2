package ledger

import (
	"math/bits"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Ceiling is the most that one launch may take, as the planner prices it.
func (t Tariff) Ceiling(s offer.Shape) state.Amounts {
	out := state.Amounts{}
	cost, _ := place.AtMost(s, t.Price, t.Around, t.Hold)
	for unit, d := range cost {
		if d = amount.Counted(d); !d.IsZero() {
			out[unit] = d.String()
		}
	}
	return out
}

// Ceilings are those of several launches.
func (t Tariff) Ceilings(shapes []offer.Shape) (out []Amounts) {
	for _, s := range shapes {
		cost, _ := place.AtMost(s, t.Price, t.Around, t.Hold)
		out = append(out, priced(cost))
	}
	return out
}

// Took is the consumption of a launch that is over. Where the wait in the queue
// is billed it counts the real wait, whatever was quoted; waited is less than 0
// where the wait is unknown. It has no service units where the place states no
// price in them.
func (t Tariff) Took(s offer.Shape, elapsed, waited time.Duration) (a Amounts, known bool) {
	if t.Price.BillsWhileQueued {
		t.Price.Known = waited >= 0
		t.Around = t.Boot + max(waited, 0)
	}
	t.Price.UnknownSU = false
	a, all := t.Cost(s, elapsed)
	return a, all.All()
}

// share charges nodes for the time for which they count as the launch's own.
func (t Tariff) share(spent *Amounts, s offer.Shape, nodes time.Duration) {
	whole, _ := t.Took(s.Alone(), nodes, 0)
	for _, unit := range []string{place.USD, place.ServiceUnits, place.NodeHours} {
		u := slices.Index(units[:], unit)
		spent[u] = whole[u]
	}
}

// Cost is the cost of a launch, from its runtime, and in which units
// that is known.
func (t Tariff) Cost(s offer.Shape, elapsed time.Duration) (a Amounts, known place.Known) {
	if p := t.Price; !t.Charges() && p.Granularity == 0 && p.Minimum == 0 {
		// Only hours: the common case, and exact in integers.
		s = t.Price.Given(s)
		a[cpuHours] = hours(int64(max(s.CPUs, 1)), elapsed)
		a[gpuHours] = hours(int64(s.GPUs), elapsed)
		a[nodeHours] = hours(int64(max(s.Nodes, 1)), elapsed) * int64(s.Turns()) / int64(max(s.Pack, 1))
		return a, place.Known{USD: t.Price.Known || t.Price.BillsWhileQueued, ServiceUnits: !t.Price.UnknownSU}
	}
	cost, known := place.Charged(s, t.Price, elapsed, t.Around, t.Hold)
	return priced(cost), known
}

// Billed is the amount in a backend's statement of its charge, such as "0.35 usd" or "12
// service_units"; an amount without a unit is money. ok is false for other units.
func Billed(text string) (unit int, billed int64, ok bool) {
	name, d, ok := place.Billed(text)
	if unit = slices.Index(units[:], name); !ok || unit < 0 {
		return 0, 0, false
	}
	return unit, up(d), true
}

// Open are the units in which the consumption of a launch is unbounded: those
// without a known price, those whose bill counts a wait of unknown length, and
// without a walltime all units in which it is charged.
func (t Tariff) Open(s offer.Shape) (open [len(units)]bool) {
	hour, known := t.Cost(s, time.Hour)
	for u, v := range hour {
		open[u] = !known.Of(units[u]) || s.Walltime == 0 && v > 0
	}
	return open
}

// hours are n of something for d, rounded down: a ninth of a billionth of an hour
// is 400 nanoseconds.
func hours(n int64, d time.Duration) int64 {
	high, low := bits.Mul64(uint64(max(n, 0)), uint64(max(d, 0)))
	if high >= 400/2 {
		return beyond
	}
	out, _ := bits.Div64(high, low, 400)
	return int64(out)
}

// Charges reports whether launches cost anything beside their hours.
func (t Tariff) Charges() bool { return place.Charges(t.Price) }

// Paid reports whether launches cost money.
func (t Tariff) Paid() bool {
	return t.Price.Known && (positive(t.Price.USDPerGPUHour) || positive(t.Price.USDPerHour) || positive(t.Price.USDPerCPUHour) || positive(t.Price.USDPerGBMonth))
}

func positive(rate string) bool {
	d, err := decimal.NewFromString(rate)
	return err == nil && d.IsPositive()
}
