package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Chance: jobs of which the runtime is known with its spread do not all take
// the mean. The last of a hundred that run at once ends long after the mean,
// and where a thousand follow one another their spread averages out. So the
// cells of a group are divided into classes by quantile, evenly over the
// phase, and each class runs as long as its quantile; some are launched again.

const (
	// each is up to how many cells of a phase every one has a quantile of its own.
	each = 64
	// body is into how many classes more are divided; those above are halved
	// until one cell is left, for the longest decides when a phase ends.
	body = 16
	// mostClasses bounds the groups of a phase after the division.
	mostClasses = 8192
)

// A class is cells of a group that are off the mean alike.
type class struct {
	group    uint16
	quantile int // index; see quantiles
	again    int // launches beyond the first
	wait     int // in the queue; see waitClass
}

// quantiles are how far the cells of a phase are off the mean by themselves, in
// standard deviations, least first; the last is that of the longest: on the
// median, and late.
func quantiles(n int) (own []float64, top, late float64) {
	top, late = deviation(math.Pow(0.5, 1/float64(n))), deviation(math.Pow(0.9, 1/float64(n)))
	if n <= each {
		for k := range n {
			own = append(own, deviation((float64(k)+0.5)/float64(n)))
		}
		return own, top, late
	}
	from := 0.0
	for step := 1.0 / body; 1-from > 1.5/float64(n); {
		if from >= 1-1.0/body {
			step = (1 - from) / 2
		}
		own = append(own, deviation(from+step/2))
		from += step
	}
	return append(own, top), top, late
}

// divide gives each cell that starts its class. It returns for each cell its
// group among the new ones, and what these are; the groups themselves where
// nothing is left to chance.
func (d deal) divide(phase string, of []uint16, groups []Group) ([]uint16, []run) {
	runs, n, chance := d.whole(of, groups)
	switch {
	case !chance:
		return of, runs
	case d.drawn:
		return d.draw(phase, of, groups, runs)
	case n < 2:
		return of, runs
	}
	own, top, last := quantiles(n)
	if len(groups)*len(own) > mostClasses {
		for i := range groups {
			if i > 0 {
				runs = groups[i].together(runs, i, d.late, n)
			}
		}
		return of, runs
	}
	rank := ranks(n, len(own), d.nth)
	out := slices.Clone(of)
	made := map[class]uint16{}
	k := 0
	for i, at := range of {
		if at == 0 || at == Never || groups[at].InFlight {
			continue
		}
		g := &groups[at]
		c := class{group: at, quantile: rank(k), again: g.launchedAgain(k, n, d), wait: g.waitClass(k, d)}
		k++
		if g.Runtime.own() == 0 {
			c.quantile = 0
		}
		to, ok := made[c]
		if !ok {
			if to = uint16(len(runs)); len(runs)+c.again >= Never-1 {
				continue
			}
			made[c] = to
			z, spare := own[c.quantile], 0.0
			if c.quantile == len(own)-1 {
				z, spare = top, last-top
			}
			runs = g.failing(runs, int(at), c.again, g.turn(d.late)+g.lost(d.late))
			runs = g.chain(runs, int(at), g.drawn(z, spare, n, d.late), g.turn(d.late))
			runs[to].wait = g.waitOf(c.wait, d)
		}
		out[i] = to
	}
	return out, runs
}

// whole gives each group one run for all its jobs. It counts the jobs that have not
// started, and reports whether any of them may take one of several times.
func (d deal) whole(of []uint16, groups []Group) (runs []run, n int, chance bool) {
	runs = make([]run, len(groups))
	counts := make([]int, len(groups))
	for _, g := range of {
		if g != 0 && g != Never {
			counts[g]++
		}
	}
	for i, g := range groups {
		if i == 0 {
			continue
		}
		runs = g.together(runs, i, d.late, 1)
		if !g.InFlight {
			n += counts[i]
			chance = chance || counts[i] > 0 && g.left() > 0
		}
	}
	return runs, n, chance
}

// failing appends the runs of a cell's launches that fail, each of which keeps
// its place so long, before the one that ends well.
func (g *Group) failing(runs []run, group, times int, each time.Duration) []run {
	for range times {
		runs = append(runs, run{group: group, dur: each, next: uint16(len(runs) + 1), gap: g.Delay + max(g.Decision.Wait-g.Turn, 0)})
	}
	return runs
}

// left is the part of a group's runtimes that chance decides.
func (g Group) left() float64 {
	if g.Runtime.Seen <= 0 {
		return 0
	}
	return g.Runtime.own() + g.again()
}

// golden, silver and bronze spread successive values evenly, however many there
// are (a Kronecker sequence).
var golden, silver, bronze = (math.Sqrt(5) - 1) / 2, math.Sqrt2 - 1, (math.Sqrt(13) - 3) / 2

func fraction(x float64) float64 { _, f := math.Modf(x); return f }

// ranks tells the class of the k-th of n cells, in one of the deals.
func ranks(n, classes int, deal uint64) func(k int) int {
	u := func(k int) float64 { return fraction(0.5 + float64(k)*golden) }
	if deal > 0 {
		chance := rand.New(rand.NewPCG(deal, uint64(n)))
		dealt := make([]float64, n)
		for k := range dealt {
			dealt[k] = chance.Float64()
		}
		u = func(k int) float64 { return dealt[k] }
	}
	order := make([]int32, n)
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(u(int(a)), u(int(b))) })
	class := make([]uint8, n)
	for at, k := range order {
		class[k] = uint8(classOf(at, n, classes))
	}
	return func(k int) int { return int(class[k]) }
}

// classOf is the class of the cell at a rank.
func classOf(at, n, classes int) int {
	switch {
	case n <= each:
		return at
	case at == n-1:
		return classes - 1
	}
	u := (float64(at) + 0.5) / float64(n)
	if u < 1-1.0/body {
		return int(u * body)
	}
	// Above, each class is half of the rest.
	up := int(math.Log2((1.0 / body) / (1 - u)))
	return min(body-1+up, classes-2)
}

// launchedAgain is how often the k-th of n cells is launched beyond its first.
func (g *Group) launchedAgain(k, n int, d deal) int {
	if g.again() == 0 {
		return 0
	}
	f := min(g.Failing, mostFailing)
	if d.late {
		f = min(f+z90*math.Sqrt(f*(1-f)/float64(n)), mostFailing)
	}
	u, times := fraction(0.25+float64(k)*silver+float64(d.nth)*golden), 0
	for p := f; u < p && times < g.Launches-1; p *= f {
		times++
	}
	return times
}

// drawn is the runtime of one cell in a phase of n: off the mean by its own
// deviation, if late also by the common one, and by the further uncertainty of
// its own.
func (g *Group) drawn(z, spare float64, n int, late bool) time.Duration {
	r := g.Runtime
	switch {
	case r.Seen <= 0:
		return r.launch(late)
	case !late:
		return r.Draw(Off{Alone: z})
	}
	own, common := r.own(), r.together()*z90
	wider := z90 * r.loose() * own * max(z, own) // the longest are off more where jobs differ more, and so is the mean
	off := math.Sqrt(common*common + wider*wider + max(own*own*spare*spare, z90*z90*own*own/float64(n)))
	return r.times(off + r.alone(z, 1))
}
