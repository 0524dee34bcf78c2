package place

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// Units of amounts, in the order in which costs are compared.
const (
	USD          = "usd"
	ServiceUnits = "service_units"
	GPUHours     = "gpu_hours"
	CPUHours     = "cpu_hours"
	NodeHours    = "node_hours"
)

// A Known says of each charged unit whether the charge is known. Hours are measured, and
// always are.
type Known struct{ USD, ServiceUnits bool }

// All reports whether nothing of a price is unknown.
func (k Known) All() bool { return k.USD && k.ServiceUnits }

// Of reports whether the charge in a unit is known.
func (k Known) Of(unit string) bool {
	return (unit != USD || k.USD) && (unit != ServiceUnits || k.ServiceUnits)
}

// And is the known part of two prices together.
func (k Known) And(o Known) Known { return Known{k.USD && o.USD, k.ServiceUnits && o.ServiceUnits} }

// Cost is the cost of one launch of a shape for a duration, by unit. Units that are not
// charged are absent, and so is one with an unknown price; where only a billed wait is
// unknown, the cost is the least possible.
func Cost(s offer.Shape, p offer.Price, d time.Duration) (amounts map[string]decimal.Decimal, known Known) {
	lasts := decimal.NewFromInt(int64(Paid(d, p)))
	// Divided last: two thirds of an hour at 3 are 2, and no budget of 2 is passed.
	forHours := func(rate decimal.Decimal) decimal.Decimal { return rate.Mul(lasts).DivRound(hour, precision) }
	// Jobs that are packed into nodes share their charge.
	turns := decimal.NewFromInt(int64(s.Turns()))
	shared := func(rate decimal.Decimal) decimal.Decimal {
		return rate.Mul(lasts).Mul(turns).DivRound(hour.Mul(decimal.NewFromInt(int64(max(s.Pack, 1)))), precision)
	}
	s = p.Given(s)
	nodes := decimal.NewFromInt(int64(max(s.Nodes, 1)))
	gpus, cpus := decimal.NewFromInt(int64(s.GPUs)), decimal.NewFromInt(int64(max(s.CPUs, 1)))
	out := map[string]decimal.Decimal{CPUHours: forHours(cpus), NodeHours: shared(nodes)}
	if s.GPUs > 0 {
		out[GPUHours] = forHours(gpus)
	}
	known = Known{USD: p.Known, ServiceUnits: !p.UnknownSU}
	if p.BillsWhileQueued && !p.Known { // the rates are known, of a time that is not
		known.USD = true
	}
	charge := func(unit string, rate, amount decimal.Decimal) {
		out[unit] = out[unit].Add(amount)
		if p.BillsWhileQueued && !p.Known && rate.IsPositive() {
			known = known.And(Known{USD: unit != USD, ServiceUnits: unit != ServiceUnits})
		}
	}
	add := func(unit, rate string, quantity decimal.Decimal, hours func(decimal.Decimal) decimal.Decimal) {
		if quantity.IsZero() {
			return // a rate per device charges CPU work nothing
		}
		if r, err := decimal.NewFromString(rate); err == nil {
			charge(unit, r, hours(r.Mul(quantity)))
		}
	}
	add(USD, p.USDPerGPUHour, gpus, forHours)
	add(USD, p.USDPerHour, nodes, shared)
	add(USD, p.USDPerCPUHour, cpus, forHours)
	if r, err := decimal.NewFromString(p.USDPerGBMonth); err == nil && s.Disk > 0 {
		charge(USD, r, r.Mul(decimal.NewFromInt(s.Disk)).Mul(lasts).DivRound(gbMonth.Mul(hour), precision))
	}
	add(ServiceUnits, p.SUPerGPUHour, gpus, forHours)
	add(ServiceUnits, p.SUPerNodeHour, nodes, shared)
	add(ServiceUnits, p.SUPerCPUHour, cpus, forHours)
	return out, known
}

// gbMonth is a gigabyte for a month, in bytes and hours.
var gbMonth = decimal.NewFromInt(730e9)

// precision is the decimal places of a cost.
const precision = 18

// hour is one in nanoseconds.
var hour = decimal.NewFromInt(int64(time.Hour))

// Charged is Cost of a launch that is billed for longer than it runs: while its
// machine boots, while it waits where the site bills that, and while its machine
// is kept after it. All of that is one bill, rounded once. Hours are of work; only
// money and service units are charged for the rest.
func Charged(s offer.Shape, p offer.Price, run, around, hold time.Duration) (amounts map[string]decimal.Decimal, known Known) {
	amounts, known = Cost(s, p, run)
	if around <= 0 && hold <= 0 {
		return amounts, known
	}
	all, _ := Cost(s, p, run+max(around, 0)+max(hold, 0))
	for _, unit := range []string{USD, ServiceUnits} {
		if v, ok := all[unit]; ok {
			amounts[unit] = v
		}
	}
	return amounts, known
}

// AtMost is the ceiling of one launch: its whole walltime, the time billed around it, the
// machines that are tried before it, and the machine that is kept after it, all at the dearest
// rate that its backend may pay.
func AtMost(s offer.Shape, p offer.Price, around, hold time.Duration) (amounts map[string]decimal.Decimal, known Known) {
	return Most(s, p, s.Walltime, around, hold)
}

// Most is AtMost of a launch that runs for some time.
func Most(s offer.Shape, p offer.Price, run, around, hold time.Duration) (amounts map[string]decimal.Decimal, known Known) {
	p.USDPerHour = Dearest(p)
	return Charged(s, p, run, around+p.Spare, hold)
}

// Dearest is the most that an hour of a machine may cost at a price, USD; "" = hours cost nothing.
func Dearest(p offer.Price) string {
	most, err := decimal.NewFromString(p.USDPerHourAtMost)
	quoted, unquoted := decimal.NewFromString(p.USDPerHour)
	if err != nil || unquoted == nil && quoted.GreaterThan(most) {
		return p.USDPerHour
	}
	return most.String()
}

// Guessed reports whether the charge of a price in a unit is an estimate: its rates are the
// provider's guess, and not stated by those who bill. Hours are counted and never a guess.
func Guessed(p offer.Price, unit string) bool {
	return p.Estimated && (unit == USD || unit == ServiceUnits)
}

// Charges reports whether launches cost anything beside their hours.
func Charges(p offer.Price) bool {
	return p.USDPerGPUHour != "" || p.USDPerHour != "" || p.USDPerCPUHour != "" || p.USDPerGBMonth != "" || p.InServiceUnits()
}

// mostRate is the highest rate that is believed, for an hour or a month.
var mostRate = decimal.New(1, 9)

// Payable is a price as a pool's jobs pay it, as far as it is known: one rate that
// cannot be read makes all of it unknown, and so does a wait of which nobody can
// tell how long it will be, where waits are billed.
func Payable(p offer.Pool, price offer.Price, wait time.Duration) offer.Price {
	return Unwaited(NodePrice(p, sound(price)), wait)
}

// sound is a price, or an unknown one where a rate of it cannot be read, is negative, or is no
// price at all: such a rate would count as nothing.
func sound(p offer.Price) offer.Price {
	for _, rate := range []string{p.USDPerGPUHour, p.USDPerHour, p.USDPerCPUHour, p.USDPerGBMonth, p.USDPerGBOut, p.USDPerHourAtMost, p.SUPerGPUHour, p.SUPerNodeHour, p.SUPerCPUHour} {
		if rate == "" {
			continue
		}
		if r, err := decimal.NewFromString(rate); err != nil || r.IsNegative() || r.Exponent() > 9 || r.GreaterThan(mostRate) {
			return offer.Price{UnknownSU: true, CPUs: p.CPUs, GPUs: p.GPUs}
		}
	}
	return p
}

// Unwaited is the price of a place whose queue wait is billed, as far as that
// wait is known: one of which nobody can tell how long it will be is no bill of
// nothing. It keeps its rates, so that the real wait can be priced afterwards.
func Unwaited(p offer.Price, wait time.Duration) offer.Price {
	p.BillsWhileQueued = p.BillsWhileQueued && p.Known
	p.Known = p.Known && (!p.BillsWhileQueued || wait >= 0)
	return p
}

// Around is how long a launch on a place is billed before it runs.
func (d Decision) Around() time.Duration { return around(d.Price, d.Boot, d.Wait) }

// Around is the same for a candidate.
func (c Candidate) Around() time.Duration { return around(c.Price, c.Boot, c.Wait) }

func around(p offer.Price, boot, wait time.Duration) time.Duration {
	if p.BillsWhileQueued {
		return boot + max(wait, 0)
	}
	return boot
}

// NodePrice is a pool's price as a job pays it: where the site charges whole
// nodes, the rates of all devices and cores of a node are paid by the node.
func NodePrice(p offer.Pool, price offer.Price) offer.Price {
	if !p.WholeNode {
		return price
	}
	price.USDPerHour = sumRates(price.USDPerHour, price.USDPerGPUHour, p.GPUs)
	price.USDPerHour = sumRates(price.USDPerHour, price.USDPerCPUHour, p.CPUs)
	price.SUPerNodeHour = sumRates(price.SUPerNodeHour, price.SUPerGPUHour, p.GPUs)
	price.SUPerNodeHour = sumRates(price.SUPerNodeHour, price.SUPerCPUHour, p.CPUs)
	price.USDPerGPUHour, price.USDPerCPUHour, price.SUPerGPUHour, price.SUPerCPUHour = "", "", "", ""
	return price
}

// sumRates is a rate of a node plus that of each of its n parts.
func sumRates(node, part string, n int) string {
	each, err := decimal.NewFromString(part)
	if err != nil || n == 0 {
		return node
	}
	sum := each.Mul(decimal.NewFromInt(int64(n)))
	if whole, err := decimal.NewFromString(node); err == nil {
		sum = sum.Add(whole)
	}
	return sum.String()
}

// Paid is the time that is billed of a duration: the minimum at least, rounded up to the
// granularity.
func Paid(d time.Duration, p offer.Price) time.Duration {
	d = max(d, p.Minimum)
	if p.Granularity <= 0 || d%p.Granularity == 0 {
		return d
	}
	return d + p.Granularity - d%p.Granularity
}

// Hours is a duration in hours, exact to the nanosecond.
func Hours(d time.Duration) decimal.Decimal {
	return decimal.NewFromInt(int64(d)).DivRound(hour, 12)
}
