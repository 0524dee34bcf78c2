package login

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestCharged: a price for a unit of billing is told for each GPU, or core.
func TestCharged(t *testing.T) {
	t.Parallel()
	shape := offer.Shape{CPUs: 4, Memory: 8 << 30, GPUs: 2, Nodes: 1}
	p := charged(offer.Price{Known: true}, "0.5", 26, shape)
	if p.SUPerGPUHour != "6.5" || p.SUPerCPUHour != "" {
		t.Errorf("26 units at 0.5 are %+v", p)
	}
	if p := charged(offer.Price{}, "0.5", 4, offer.Shape{CPUs: 4}); p.SUPerCPUHour != "0.5" || !p.Known {
		t.Errorf("cores: %+v", p)
	}
	if p := charged(offer.Price{SUPerGPUHour: "7"}, "", 4, shape); p.SUPerGPUHour != "7" {
		t.Errorf("a site that charges otherwise: %+v", p)
	}
}
