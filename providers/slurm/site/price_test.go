package site

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestCharged: a price for a unit of billing is told for each GPU, or core; that
// of a job which has its nodes for itself, for each node with all that it has.
func TestCharged(t *testing.T) {
	t.Parallel()
	plain := &cluster.Partition{CPUs: 64, GPUs: map[string]int{"a100": 3}}
	own := &cluster.Partition{CPUs: 64, GPUs: map[string]int{"a100": 3}, Exclusive: true}
	two := offer.Shape{CPUs: 4, Memory: 8 << 30, GPUs: 2, Nodes: 1}
	for name, c := range map[string]struct {
		price      offer.Price
		perBilling string
		l          *cluster.Partition
		shape      offer.Shape
		exclusive  bool
		want       offer.Price
	}{
		"billing of 4 cores at 0.5, by 2 GPUs": {offer.Price{Known: true}, "0.5", plain, two, false, offer.Price{Known: true, SUPerGPUHour: "1"}},
		"billing by cores":                     {offer.Price{}, "0.5", plain, offer.Shape{CPUs: 4}, false, offer.Price{Known: true, SUPerCPUHour: "0.5"}},
		"charged otherwise":                    {offer.Price{SUPerGPUHour: "7"}, "", plain, two, false, offer.Price{SUPerGPUHour: "7"}},
		"billing of whole nodes":               {offer.Price{}, "0.5", plain, offer.Shape{CPUs: 4, Nodes: 2}, true, offer.Price{Known: true, SUPerNodeHour: "32"}},
		"GPUs of whole nodes":                  {offer.Price{SUPerGPUHour: "7"}, "", plain, two, true, offer.Price{SUPerNodeHour: "21"}},
		"a partition that gives whole nodes":   {offer.Price{SUPerCPUHour: "0.25"}, "", own, offer.Shape{CPUs: 1}, false, offer.Price{SUPerNodeHour: "16"}},
		"no price is none of whole nodes":      {offer.Price{Known: true}, "", own, offer.Shape{CPUs: 1}, false, offer.Price{Known: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := charged(c.price, c.perBilling, &cluster.Facts{}, c.l, c.shape, c.exclusive); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
