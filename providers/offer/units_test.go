package offer

import (
	"slices"
	"testing"
)

// TestUnrated: a pool without a rate in service units is free where none of its
// site has one or where it says 0, and of an unknown price beside those that have.
func TestUnrated(t *testing.T) {
	t.Parallel()
	none, zero, paid := Price{Known: true}, Price{Known: true, SUPerNodeHour: "0"}, Price{Known: true, SUPerGPUHour: "108.2"}
	later := Price{Known: true, UnknownSU: true} // such as a rate that only the cluster can compute
	for name, c := range map[string]struct {
		prices  []Price
		unknown []bool
	}{
		"a site that charges nothing":   {[]Price{none, none}, []bool{false, false}},
		"money alone is charged":        {[]Price{{Known: true, USDPerHour: "1"}, none}, []bool{false, false}},
		"some are charged":              {[]Price{paid, none, {Known: true, USDPerHour: "1"}}, []bool{false, true, true}},
		"one is stated to be free":      {[]Price{paid, zero}, []bool{false, false}},
		"free is a price beside others": {[]Price{zero, none}, []bool{false, true}},
		"a rate that is known later":    {[]Price{later, none}, []bool{true, true}},
	} {
		var pools []*Pool
		for _, p := range c.prices {
			pools = append(pools, &Pool{Price: p})
		}
		Unrated(pools)
		var got []bool
		for i, p := range pools {
			if got = append(got, p.Price.UnknownSU); p.Price.Known != c.prices[i].Known {
				t.Errorf("%s: what is known of its money changed", name)
			}
		}
		if !slices.Equal(got, c.unknown) {
			t.Errorf("%s: unknown are %v, not %v", name, got, c.unknown)
		}
	}
}
