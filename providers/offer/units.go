package offer

import "slices"

// InServiceUnits reports whether a price is in service units. A rate of 0 is a price, too: the
// backend is free.
func (p Price) InServiceUnits() bool {
	return p.SUPerGPUHour != "" || p.SUPerNodeHour != "" || p.SUPerCPUHour != ""
}

// Unrated marks which of a site's pools state no price in service units although
// others do: their charge is unknown, for a site that charges for some of its
// machines gives the rest away only where it says so.
func Unrated(pools []*Pool) {
	if !slices.ContainsFunc(pools, func(p *Pool) bool { return p.Price.InServiceUnits() || p.Price.UnknownSU }) {
		return
	}
	for _, p := range pools {
		p.Price.UnknownSU = !p.Price.InServiceUnits()
	}
}
