package forecast

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// How chance is dealt: of few cells one deal says little, of many each says the
// same. Few are simulated so often that the quantiles are those of the ends;
// more have their quantiles dealt to them in a few ways.
const (
	mostDrawn = 500 // cells, each of which is drawn again each time
	draws     = 64  // simulations of these, at the least
	mostDraws = 128
	mostDealt = 8000 // cells over all deals
	mostDeals = 9
)

// A deal is one way in which chance may fall.
type deal struct {
	nth   uint64
	late  bool // all are off as one in ten is
	drawn bool // every cell is drawn by itself
}

// deals is how often chance is dealt to the cells of an input, and whether each
// is drawn: only where all of them have measurements, since without any the
// only spread is that of the phase as a whole.
func deals(in *Input) (n int, drawn bool) {
	cells, chance, seen := 0, false, true
	for _, p := range in.Phases {
		cells += len(p.Of)
	}
	eachGroup(*in, func(_ string, g Group, _ int) {
		chance = chance || g.left() > 0
		seen = seen && g.Runtime.Seen > 0
	})
	switch {
	case !chance:
		return 1, false
	case seen && cells <= mostDrawn:
		return min(max(mostDrawn*draws/max(cells, 1), draws), mostDraws), true
	}
	return min(max(mostDealt/max(cells, 1), 1), mostDeals), false
}

// ends simulates an input as often as chance asks for: when it ends, at both
// quantiles, and the simulation that ends at the first.
func ends(in *Input) (mid *sim, p50, p90 time.Duration) {
	n, drawn := deals(in)
	first := playAll(in, n, deal{drawn: drawn})
	mid, p50 = first[n/2], first[n/2].end
	if drawn {
		return mid, p50, first[n*9/10].end
	}
	return mid, p50, max(p50, playAll(in, n, deal{late: true})[n/2].end)
}

// playAll simulates deals of a kind, by their ends.
func playAll(in *Input, n int, d deal) []*sim {
	sims := make([]*sim, n)
	for k := range sims {
		d.nth = uint64(k)
		sims[k] = build(in, d)
		sims[k].play()
	}
	slices.SortStableFunc(sims, func(a, b *sim) int { return cmp.Compare(a.end, b.end) })
	return sims
}

// day is how far the day is off in a deal, in standard deviations.
func (d deal) day() float64 {
	switch {
	case d.drawn:
		return deviation(fraction((float64(d.nth) + 0.5) * silver))
	case d.late:
		return z90
	}
	return 0
}

// submitSpread is the standard deviation of the logarithm of muster's own start-up time: twice
// as long one time in ten, as measured where the machine had become busier (docs/accuracy.md).
const submitSpread = 0.54

// submitAt is when the first jobs go to their backends in a deal.
func (d deal) submitAt(expected time.Duration) time.Duration {
	return time.Duration(float64(expected) * math.Exp(submitSpread*d.day()))
}

// draw gives every cell a group of its own, as long as it is drawn.
func (d deal) draw(phase string, of []uint16, groups []Group, runs []run) ([]uint16, []run) {
	h := fnv.New64a()
	h.Write([]byte(phase))
	// Evenly over the deals, and otherwise for each phase.
	off := Off{Day: d.day(), Phase: deviation(fraction(float64(h.Sum64()%1000)/1000 + (float64(d.nth)+0.5)*golden)),
		Spread: deviation(fraction(float64(h.Sum64()/1000%1000)/1000 + (float64(d.nth)+0.5)*bronze))}
	chance := rand.New(rand.NewPCG(d.nth, h.Sum64()))
	out := slices.Clone(of)
	for i, at := range of {
		if at == 0 || at == Never || groups[at].InFlight { // running jobs take the rest of the mean
			continue
		}
		g := &groups[at]
		off.Alone = chance.NormFloat64()
		again := 0
		for again < g.Launches-1 && chance.Float64() < min(g.Failing, mostFailing) {
			again++
		}
		turn, work := g.turnAt(off.Day), g.Runtime.Draw(off)
		if len(runs)+again >= Never-1 {
			continue // there are no more numbers: it is as its group
		}
		out[i] = uint16(len(runs))
		runs = g.chain(g.failing(runs, int(at), again, turn+g.lost(false)), int(at), work, turn)
		if g.WaitSpread > 0 {
			runs[out[i]].wait = g.waitAt(chance.NormFloat64(), off.Day)
		}
	}
	return out, runs
}
