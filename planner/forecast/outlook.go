package forecast

import (
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// Outlook is the expected end and cost of a plan, to compare plans that differ in one thing.
func Outlook(in Input) (end time.Duration, lines []CostLine) {
	_, end, _ = ends(&in)
	total := sums{}
	shares := sharesIn(in)
	eachGroup(in, func(phase string, g Group, n int) {
		g.share = shares[tenantOf(phase, g)]
		total.add(cost(g, n))
	})
	return end, total.lines(false)
}

// OneMore is a pool with so many more devices, where it is known how many it
// has; false for others.
func OneMore(pools []offer.Pool, at, devices int) ([]offer.Pool, bool) {
	p := pools[at]
	if freeUnits(p, 0) <= 0 {
		return nil, false
	}
	p.Total += devices
	if p.Idle >= 0 {
		p.Idle += devices
	}
	if p.OneMachine() {
		p.GPUs += devices
	}
	out := slices.Clone(pools)
	out[at] = p
	return out, true
}
