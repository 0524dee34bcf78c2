package slurm

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// stated is a partition's price where a backend block states one. In service units
// it replaces the profile's only where it states them.
func stated(block, known offer.Price) offer.Price {
	if !block.Known {
		return known
	}
	if !block.InServiceUnits() {
		block.UnknownSU, block.SUPerGPUHour, block.SUPerNodeHour, block.SUPerCPUHour = known.UnknownSU, known.SUPerGPUHour, known.SUPerNodeHour, known.SUPerCPUHour
	}
	return block
}

// unlisted is the price of a partition that the profile lacks: it costs no money,
// and unknown service units if the profile charges any.
func (b *Site) unlisted() offer.Price {
	units := func(o offer.Pool) bool { return o.Price.InServiceUnits() || o.Price.UnknownSU }
	return offer.Price{Known: true, UnknownSU: b.Profile != nil && slices.ContainsFunc(b.Profile.Pools, units)}
}

// charged is a partition's price for a shape, with the cores and GPUs that Slurm
// gives beyond the request, which are charged, too. A price per unit of billing
// becomes one per GPU or core of this shape, and, where a job has nodes for
// itself, prices per GPU or core become one per node, as all of a node is charged.
// sbatch(1), --exclusive.
func charged(p offer.Price, perBilling string, s *cluster.Facts, l *cluster.Partition, shape offer.Shape, o Options) offer.Price {
	exclusive := o.Exclusive || l.Exclusive
	shape = o.Spread(shape).Given()
	given := o.Given(l, shape)
	if given.CPUs > max(shape.CPUs, 1) {
		p.CPUs = given.CPUs
	}
	if given.GPUs > shape.GPUs {
		p.GPUs = given.GPUs
	}
	billing := decimal.Zero // of an hour, for all of it
	if rate, err := decimal.NewFromString(perBilling); err == nil {
		billing = rate.Mul(decimal.NewFromInt(int64(s.Billing(l, given))))
		p.Known, p.UnknownSU = true, false
	} else if !exclusive || p.SUPerGPUHour == "" && p.SUPerCPUHour == "" {
		return p
	}
	switch {
	case exclusive:
		has := l.Whole(offer.Shape{Nodes: 1})
		each := times(p.SUPerGPUHour, has.GPUs).Add(times(p.SUPerCPUHour, has.CPUs)).Add(share(billing, max(shape.Nodes, 1)))
		p.SUPerNodeHour, p.SUPerGPUHour, p.SUPerCPUHour = times(p.SUPerNodeHour, 1).Add(each).String(), "", ""
	case shape.GPUs > 0:
		p.SUPerGPUHour = times(p.SUPerGPUHour, 1).Add(share(billing, given.GPUs)).String()
	default:
		p.SUPerCPUHour = times(p.SUPerCPUHour, 1).Add(share(billing, given.CPUs)).String()
	}
	return p
}

// times is n times a rate; zero if the rate is not stated.
func times(rate string, n int) decimal.Decimal {
	r, err := decimal.NewFromString(rate)
	if err != nil {
		return decimal.Zero
	}
	return r.Mul(decimal.NewFromInt(int64(n)))
}

// share is one of n equal parts of an amount.
func share(amount decimal.Decimal, n int) decimal.Decimal {
	return amount.DivRound(decimal.NewFromInt(int64(n)), 9)
}

// perBilling is the profile's price for an hour of one unit of billing on a
// partition; "" = it has none, or the backend block states service units.
func (b *Site) perBilling(pool string) string {
	if b.Profile == nil || b.Price.InServiceUnits() {
		return ""
	}
	return b.Profile.PerBilling[pool]
}
