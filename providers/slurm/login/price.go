package login

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

// charged is a partition's price for a shape: one for each unit of billing is
// turned into one for each GPU, or core, of this shape.
func charged(p offer.Price, perBilling string, billing int, shape offer.Shape) offer.Price {
	rate, err := decimal.NewFromString(perBilling)
	if perBilling == "" || err != nil {
		return p
	}
	hour := rate.Mul(decimal.NewFromInt(int64(billing)))
	if shape.GPUs > 0 {
		p.SUPerGPUHour = hour.DivRound(decimal.NewFromInt(int64(shape.GPUs)), 9).String()
	} else {
		p.SUPerCPUHour = hour.DivRound(decimal.NewFromInt(int64(max(shape.CPUs, shape.Nodes, 1))), 9).String()
	}
	p.Known = true
	return p
}

// perBilling is what the profile charges for an hour of one unit of billing on
// a partition, "" if it says nothing.
func (b *backend) perBilling(pool string) string {
	if b.profile == nil {
		return ""
	}
	return b.profile.PerBilling[pool]
}
