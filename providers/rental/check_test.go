package rental

import "testing"

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted, model string
		allows        bool
	}{
		{"RTX 4070", "RTX 4070 Ti", false},
		{"RTX 4000", "RTX 4000 Ada", false},
		{"A100 40GB", "A100 80GB SXM4", false},
		{"A100", "A10 24GB PCIe", false},
		{"H100 PCIe", "H100 80GB SXM5", false},
		{"RTX 4090", "RTX 4090", true},
		{"A10", "A10 24GB PCIe", true},
		{"a100 sxm4", "A100 80GB SXM4", true},
		{"A100", "A100 80GB SXM4", true},
		{"NVIDIA GeForce RTX 4090", "RTX 4090", true},
		{"NVIDIA H100 80GB HBM3", "H100 PCIe", false},
	} {
		if got := (Want{Models: []string{"T4", c.wanted}}).Allows(c.model); got != c.allows {
			t.Errorf("%q allows %q: %t", c.wanted, c.model, got)
		}
	}
	if !(Want{}).Allows("T4") {
		t.Error("a want of any model does not allow T4")
	}
}
