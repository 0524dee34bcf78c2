package site

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
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

// charged is a partition's price for a shape: one for each unit of billing is
// turned into one for each GPU, or core, of this shape, and one for each GPU or
// core into one for each node where a job has nodes for itself, as it is charged
// for all that they have. sbatch(1), --exclusive. Cores that Slurm gives a job
// beyond those it asks for are charged, too, as a rate for each of those: unless
// the site charges whole nodes anyway.
func charged(p offer.Price, perBilling string, s *cluster.Facts, l *cluster.Partition, shape offer.Shape, exclusive, wholeNode bool) offer.Price {
	exclusive = exclusive || l.Exclusive
	shape = shape.Given()
	given := l.Given(shape)
	if cores := max(shape.CPUs, 1); !exclusive && !wholeNode && given.CPUs > cores && p.SUPerCPUHour != "" {
		p.SUPerCPUHour = share(times(p.SUPerCPUHour, given.CPUs), cores).String()
	}
	billing := decimal.Zero // of an hour, for all of it
	if rate, err := decimal.NewFromString(perBilling); err == nil {
		if exclusive {
			given = l.Given(l.Whole(shape))
		}
		billing = rate.Mul(decimal.NewFromInt(int64(s.Billing(l, given))))
		p.Known, p.UnknownSU = true, false
	} else if !exclusive || p.SUPerGPUHour == "" && p.SUPerCPUHour == "" {
		return p
	}
	switch nodes := max(shape.Nodes, 1); {
	case exclusive:
		has := l.Whole(offer.Shape{Nodes: 1})
		each := times(p.SUPerGPUHour, has.GPUs).Add(times(p.SUPerCPUHour, has.CPUs)).Add(share(billing, nodes))
		p.SUPerNodeHour, p.SUPerGPUHour, p.SUPerCPUHour = times(p.SUPerNodeHour, 1).Add(each).String(), "", ""
	case shape.GPUs > 0:
		p.SUPerGPUHour = times(p.SUPerGPUHour, 1).Add(share(billing, shape.GPUs)).String()
	default:
		p.SUPerCPUHour = times(p.SUPerCPUHour, 1).Add(share(billing, max(shape.CPUs, 1))).String()
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
