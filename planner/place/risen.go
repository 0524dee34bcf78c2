package place

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Billed is the amount in a backend's statement of its charge, such as "0.35 usd"
// or "12 service_units"; without a unit it is money. ok is false where it is in no
// unit of ours.
func Billed(text string) (unit string, billed decimal.Decimal, ok bool) {
	value, name, named := strings.Cut(strings.TrimSpace(text), " ")
	billed, err := decimal.NewFromString(value)
	if unit = strings.ToLower(strings.TrimSpace(name)); !named {
		unit = USD
	}
	known := slices.Contains([]string{USD, ServiceUnits, GPUHours, CPUHours, NodeHours}, unit)
	return unit, billed, known && err == nil && !billed.IsNegative() && !billed.GreaterThan(mostRate)
}

// A Rise compares the last bills of a pool with its quotes: it charged Factor
// times the rates that were quoted then.
type Rise struct {
	Factor decimal.Decimal
	was    decimal.Decimal   // the factor that its rates had when they were recorded
	rates  map[string]string // as recorded
}

// At names a pool of a backend.
type PoolAt struct{ Backend, Pool string }

// billTolerance is the share by which a bill may pass its rates, as bills are
// rounded.
var billTolerance = decimal.New(1001, -3)

// Bills are the bills of a pool's last launches.
type Bills struct {
	Last   decimal.Decimal // factor of the last launch above its quote; 1 for none
	Since  time.Time       // its start
	Before decimal.Decimal // factor of the launch that started before it; 0 without one
	Until  time.Time       // its start
	Rise   Rise            // by which others count; the zero Rise for none
}

// BillsOf are those of every pool that billed. Its Rise says that the last two launches were
// billed above their quotes: one alone may be a surcharge of its own. A pool that quotes
// something else by now is believed again.
func BillsOf(st *state.State) map[PoolAt]Bills {
	last := map[PoolAt][2]*state.Attempt{} // the last first
	for _, j := range st.All() {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if a.Usage == nil || a.Usage.Billed == "" || len(a.Rates) == 0 || a.Started.IsZero() {
				continue
			}
			at := PoolAt{a.Backend, a.Pool}
			switch two := last[at]; {
			case two[0] == nil || a.Started.After(two[0].Started):
				last[at] = [2]*state.Attempt{a, two[0]}
			case two[1] == nil || a.Started.After(two[1].Started):
				last[at] = [2]*state.Attempt{two[0], a}
			}
		}
	}
	out := map[PoolAt]Bills{}
	for at, two := range last {
		b := Bills{Last: decimal.NewFromInt(1), Since: two[0].Started}
		r, risen := riseOf(two[0])
		if risen {
			b.Last = r.Factor
		}
		if two[1] != nil {
			b.Before, b.Until = decimal.NewFromInt(1), two[1].Started
			if before, above := riseOf(two[1]); above {
				if b.Before = before.Factor; risen {
					b.Rise = r
				}
			}
		}
		out[at] = b
	}
	return out
}

// Rises are the pools that bill more than they quote.
func Rises(st *state.State) map[PoolAt]Rise {
	out := map[PoolAt]Rise{}
	for at, b := range BillsOf(st) {
		if b.Rise.Factor.IsPositive() {
			out[at] = b.Rise
		}
	}
	return out
}

func riseOf(a *state.Attempt) (r Rise, ok bool) {
	unit, billed, ok := Billed(a.Usage.Billed)
	if !ok || unit != USD && unit != ServiceUnits {
		return r, false
	}
	d, ok := Decision{}.Charged(a)
	if !ok || d.Price.BillsWhileQueued {
		return r, false
	}
	elapsed := time.Duration(a.Usage.Elapsed * float64(time.Second))
	if a.Usage.Elapsed < 0 {
		elapsed = a.Ended.Sub(a.Started)
	}
	shape, ok := Launched(a)
	rated, _ := Charged(shape, d.Price, max(elapsed, 0), d.Around(), d.Hold)
	if !ok || !rated[unit].IsPositive() {
		return r, false
	}
	r = Rise{Factor: decimal.NewFromInt(1), was: RisenBy(d.Price), rates: a.Rates}
	if by := billed.DivRound(rated[unit], 12); by.GreaterThan(billTolerance) {
		r.Factor = by
	}
	r.Factor = r.Factor.Mul(r.was).RoundCeil(6)
	return r, r.Factor.GreaterThan(decimal.NewFromInt(1))
}

// Of is a price as its pool bills it: raised, if the pool quotes the same as when it billed
// more.
func (r Rise) Of(p offer.Price) offer.Price {
	if !r.Factor.IsPositive() {
		return p
	}
	raised := p
	for name, rate := range rates(&raised) {
		today, err := decimal.NewFromString(*rate)
		switch {
		case *rate == "" && (r.rates[name] == "" || name == dearestHour):
		case err != nil:
			return p
		case name == dearestHour: // it depends on the machines that are there, too, and is no quote
			*rate = today.Mul(r.Factor).String()
		default:
			if recorded, err := decimal.NewFromString(r.rates[name]); err != nil || !today.Mul(r.was).Equal(recorded) {
				return p
			}
			*rate = today.Mul(r.Factor).String()
		}
	}
	raised.Risen = r.Factor.String()
	return raised
}

// RisenBy is the factor by which the rates of a price are above its pool's quote, 1 for
// none.
func RisenBy(p offer.Price) decimal.Decimal {
	if f, err := decimal.NewFromString(p.Risen); err == nil && f.IsPositive() {
		return f
	}
	return decimal.NewFromInt(1)
}

// Over is the factor of bills over the pool's quote when the price of the launches was
// recorded; 1 if that quote was another than when the pool billed more.
func (r Rise) Over(p offer.Price) decimal.Decimal {
	was := RisenBy(p)
	for name, rate := range rates(&p) {
		if *rate == "" && r.rates[name] == "" || name == dearestHour {
			continue
		}
		recorded, err := decimal.NewFromString(*rate)
		billed, err2 := decimal.NewFromString(r.rates[name])
		if err != nil || err2 != nil || !recorded.Mul(r.was).Equal(billed.Mul(was)) {
			return decimal.NewFromInt(1)
		}
	}
	return r.Factor
}
