package site

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// charged is a partition's price for a shape: one for each unit of billing is
// turned into one for each GPU, or core, of this shape, and one for each GPU or
// core into one for each node where a job has nodes for itself, as it is charged
// for all that they have. sbatch(1), --exclusive.
func charged(p offer.Price, perBilling string, s *cluster.Facts, l *cluster.Partition, shape offer.Shape, exclusive bool) offer.Price {
	exclusive = exclusive || l.Exclusive
	nodes := int64(max(shape.Nodes, 1))
	rate, err := decimal.NewFromString(perBilling)
	switch {
	case perBilling != "" && err == nil:
		whole := shape
		if exclusive {
			whole = l.Whole(shape)
		}
		hour := rate.Mul(decimal.NewFromInt(int64(s.Billing(l, whole))))
		switch {
		case exclusive:
			p.SUPerNodeHour = hour.DivRound(decimal.NewFromInt(nodes), 9).String()
		case shape.GPUs > 0:
			p.SUPerGPUHour = hour.DivRound(decimal.NewFromInt(int64(shape.GPUs)), 9).String()
		default:
			p.SUPerCPUHour = hour.DivRound(decimal.NewFromInt(int64(max(shape.CPUs, shape.Nodes, 1))), 9).String()
		}
		p.Known = true
	case exclusive && (p.SUPerGPUHour != "" || p.SUPerCPUHour != ""):
		has := l.Whole(offer.Shape{Nodes: 1})
		node := decimal.Zero
		for _, part := range []struct {
			rate string
			n    int
		}{{p.SUPerNodeHour, 1}, {p.SUPerGPUHour, has.GPUs}, {p.SUPerCPUHour, has.CPUs}} {
			if r, err := decimal.NewFromString(part.rate); err == nil {
				node = node.Add(r.Mul(decimal.NewFromInt(int64(part.n))))
			}
		}
		p.SUPerNodeHour, p.SUPerGPUHour, p.SUPerCPUHour = node.String(), "", ""
	}
	return p
}

// perBilling is what the profile charges for an hour of one unit of billing on
// a partition, "" if it says nothing.
func (b *Site) perBilling(pool string) string {
	if b.Profile == nil {
		return ""
	}
	return b.Profile.PerBilling[pool]
}
