package site

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
)

// stated is a partition's price where a backend block states one: in service
// units it stands over the profile's only where it says something of them.
func stated(block, known offer.Price) offer.Price {
	if !block.Known {
		return known
	}
	if !block.InServiceUnits() {
		block.UnknownSU, block.SUPerGPUHour, block.SUPerNodeHour, block.SUPerCPUHour = known.UnknownSU, known.SUPerGPUHour, known.SUPerNodeHour, known.SUPerCPUHour
	}
	return block
}

// unlisted is the price of a partition that the profile does not have: it costs no
// money, and what it costs in service units is not known where others do.
func (b *Site) unlisted() offer.Price {
	units := func(o offer.Pool) bool { return o.Price.InServiceUnits() || o.Price.UnknownSU }
	return offer.Price{Known: true, UnknownSU: b.Profile != nil && slices.ContainsFunc(b.Profile.Pools, units)}
}

// charged is a partition's price for a shape, and what Slurm gives a job of it
// beyond what it asks for, which is charged, too: one for each unit of billing is
// turned into one for each GPU, or core, of this shape, and one for each GPU or
// core into one for each node where a job has nodes for itself, as it is charged
// for all that they have. sbatch(1), --exclusive.
func charged(p offer.Price, perBilling string, s *cluster.Facts, l *cluster.Partition, shape offer.Shape, o script.Options) offer.Price {
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

// times is a rate of n parts; one that is not stated is none.
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

// perBilling is what the profile charges for an hour of one unit of billing on
// a partition, "" if it says nothing, or the backend block says what is charged
// in service units.
func (b *Site) perBilling(pool string) string {
	if b.Profile == nil || b.Price.InServiceUnits() {
		return ""
	}
	return b.Profile.PerBilling[pool]
}
