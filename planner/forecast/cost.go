package forecast

import (
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// units is the order in which amounts are listed.
var units = []string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours}

// The columns of a sum.
const (
	expected = iota
	p90
	atMost
)

// A sum adds up one unit at three levels.
type sum struct {
	value [3]decimal.Decimal // expected, p90, at most
	mark  [3]Mark
}

type sums map[string]*sum

// addCosts fills Lines, ByPhase, ByBackend, ByPool, ByScope and Work. Lists for people leave
// out node-hours, and CPU-hours beside GPU-hours; a scope has every unit, for a budget may
// limit any.
func (f *Forecast) addCosts(in Input) {
	total, phases, backends, pools, scopes := sums{}, map[string]sums{}, map[string]sums{}, map[string]sums{}, map[string]sums{}
	jobs := map[string]int{}
	alike, packs, shares, unpacked := alikeIn(in), packsIn(in), sharesIn(in), sums{}
	shared := false // a node, and not only an allocation
	eachGroup(in, func(phase string, g Group, n int) {
		g.alike, g.share = alike[phase], shares[tenantOf(phase, g)]
		if g.packed() {
			g.fill = packs[packOf(phase, g)]
			shared = shared || g.Decision.Shape.Beside() > 1
		}
		own := cost(g, n)
		unpacked.add(cost(g.unpacked(), n))
		jobs[phase] += n
		for _, s := range []sums{total, at(phases, phase), at(backends, g.Decision.Backend), at(pools, strings.TrimSuffix(g.Decision.Backend+" "+g.Decision.Pool, " "))} {
			s.add(own)
		}
		for _, sc := range in.Scopes {
			if sc.holds(phase, g.Decision.Backend) {
				at(scopes, sc.Name).add(own)
			}
		}
	})
	for _, m := range in.Moves {
		for _, s := range []sums{total, at(phases, m.Phase), at(backends, m.Backend), at(pools, strings.TrimSuffix(m.Backend+" "+m.Pool, " "))} {
			s.move(m)
		}
		for _, sc := range in.Scopes {
			if sc.holds(m.Phase, m.Backend) {
				at(scopes, sc.Name).move(m)
			}
		}
	}
	f.Lines, f.Beside = total.lines(false), nil
	for _, l := range total.lines(true) {
		if LineOf(f.Lines, l.Unit).Unit == "" {
			f.Beside = append(f.Beside, l)
		}
	}
	if shared {
		f.Unpacked = LineOf(unpacked.lines(true), place.NodeHours)
		f.Show(place.NodeHours)
	}
	for name, s := range phases {
		f.ByPhase[name] = s.lines(false)
		f.Work[name] = Work{Jobs: jobs[name], Lines: s.lines(true)}
	}
	for name, s := range backends {
		f.ByBackend[name] = s.lines(false)
	}
	for name, s := range pools {
		f.ByPool[name] = s.lines(false)
	}
	for name, s := range scopes {
		f.ByScope[name] = s.lines(true)
	}
}

func at(m map[string]sums, key string) sums {
	if m[key] == nil {
		m[key] = sums{}
	}
	return m[key]
}

// cost is the consumption of n jobs of a group.
func cost(g Group, n int) sums {
	s, jobs := sums{}, decimal.NewFromInt(int64(n))
	if len(g.Aside) > 0 {
		s.aside(g, jobs)
		return s
	}
	for i, t := range [...]time.Duration{expected: g.Runtime.Expected, p90: g.Runtime.Average(g.alike)} {
		s.run(i, g, g.billed(t), g.launches(t), g.rounds(), jobs)
	}
	if again := g.again(); again > 0 {
		few := decimal.NewFromFloat(again).Round(6)
		many := decimal.NewFromFloat(min(again+z90*math.Sqrt(again*(1+again)/max(g.alike, 1)), float64(g.Launches-1))).Round(6)
		s.run(expected, g, g.lost(false), 1, nil, jobs.Mul(few))
		s.run(p90, g, g.lost(true), 1, nil, jobs.Mul(many))
	}
	s.most(g, jobs)
	s.bound()
	return s
}

// add counts other sums in.
func (s sums) add(other sums) {
	for unit, v := range other {
		for i := range v.value {
			s.at(unit).plus(i, v.value[i], v.mark[i])
		}
	}
}

// bound keeps the expected amount below the reservation: no launch begins that may take more,
// however long earlier ones took under another walltime.
func (s sums) bound() {
	for _, v := range s {
		for i := range atMost {
			if v.mark[atMost] != Unknown && v.value[i].GreaterThan(v.value[atMost]) {
				v.value[i] = v.value[atMost]
			}
		}
	}
}

// most adds the most that jobs may take: the largest amount in each unit over all their
// possible places. An unknown amount does not count: no job goes there that anything limits in
// that unit.
func (s sums) most(g Group, jobs decimal.Decimal) {
	if len(g.Dearer) == 0 {
		s.ceiling(g, g.Decision, g.Shapes, jobs)
		return
	}
	all := sums{}
	all.ceiling(g, g.Decision, g.Shapes, jobs)
	for _, o := range g.Dearer {
		there := sums{}
		there.ceiling(g, o.Decision, o.Shapes, jobs)
		for unit, v := range there {
			if v.mark[atMost] != Unknown && v.value[atMost].GreaterThan(all.at(unit).value[atMost]) {
				all[unit].value[atMost] = v.value[atMost]
				all[unit].mark[atMost] = max(all[unit].mark[atMost], v.mark[atMost])
			}
		}
	}
	for unit, v := range all {
		s.at(unit).plus(atMost, v.value[atMost], v.mark[atMost])
	}
}

// ceiling adds jobs at all their launches on one place, each as long as it may be.
func (s sums) ceiling(g Group, d place.Decision, shapes []offer.Shape, jobs decimal.Decimal) {
	ceiling, mark := g.Runtime.ceiling()
	if g.Launch > 0 {
		ceiling = g.Launch
	}
	if len(shapes) > 0 && mark == Known {
		for _, d.Shape = range shapes {
			s.level(atMost, g.filled(d), d.Shape.Walltime, jobs, mark)
		}
		return
	}
	launches := int64(max(g.Launches, 1))
	if d.Shape.Pack > 1 { // later launches may be of no other job of the pack
		s.level(atMost, g.filled(d), ceiling, jobs, mark)
		launches, d.Shape = launches-1, d.Shape.Alone()
	}
	s.level(atMost, g.filled(d), ceiling, jobs.Mul(decimal.NewFromInt(launches)), mark)
}

// aside adds jobs at their reservations: one launch, at most all.
func (s sums) aside(g Group, jobs decimal.Decimal) {
	_, mark := g.Runtime.ceiling()
	for unit, text := range g.Aside {
		v, err := decimal.NewFromString(text)
		if err != nil {
			continue
		}
		s.at(unit).plus(expected, v.Mul(jobs), Estimated)
		s.at(unit).plus(p90, v.Mul(jobs), Estimated)
		s.at(unit).plus(atMost, v.Mul(jobs).Mul(decimal.NewFromInt(int64(max(g.Launches, 1)))), mark)
	}
}

// alikeIn is the number of like jobs over which the runtimes of each phase average out: of
// jobs that differ in size as many as weigh as much (Kish 1965).
func alikeIn(in Input) map[string]float64 {
	sum, squares := map[string]float64{}, map[string]float64{}
	eachGroup(in, func(phase string, g Group, n int) {
		d := g.Runtime.Expected.Seconds()
		sum[phase] += float64(n) * d
		squares[phase] += float64(n) * d * d
	})
	out := map[string]float64{}
	for phase, v := range sum {
		if squares[phase] > 0 {
			out[phase] = v * v / squares[phase]
		}
	}
	return out
}

// run adds jobs of a duration, each in so many launches, which are billed one by
// one. Where only whole units are billed, it counts how far launches are off that
// duration: a bill by the hour of jobs of about an hour is not that of the average
// job.
func (s sums) run(i int, g Group, t time.Duration, each int, rounds []float64, jobs decimal.Decimal) {
	d, mark := g.Decision, g.Runtime.Mark
	t, launches := t/time.Duration(each), jobs.Mul(decimal.NewFromInt(int64(each)))
	if d.Price.Granularity <= 0 && d.Price.Minimum <= 0 || len(rounds) == 0 {
		s.level(i, g.filled(d), t, launches, mark)
		return
	}
	launches = launches.Div(decimal.NewFromInt(int64(len(rounds))))
	longest := g.longest(t)
	for _, by := range rounds {
		s.level(i, g.filled(d), min(time.Duration(float64(t)*by), longest), launches, mark)
	}
}

// rounds are how far launches are off the mean: the middle of each sixteenth,
// least first; nil where they are not.
func (g Group) rounds() (out []float64) {
	own := g.Runtime.own()
	if own == 0 || g.InFlight {
		return nil
	}
	for k := range body {
		out = append(out, math.Exp(own*deviation((float64(k)+0.5)/body)-own*own/2))
	}
	return out
}

// ceiling is the longest one launch can take; Unknown when no walltime is
// stated.
func (r Runtime) ceiling() (time.Duration, Mark) {
	if r.Ceiling == 0 {
		return r.P90, Unknown
	}
	return r.Ceiling, Known
}

// longest is how long a launch may last, at which it is ended, and t at least.
func (g Group) longest(t time.Duration) time.Duration {
	ceiling, mark := g.Runtime.ceiling()
	switch {
	case g.Launch > 0:
		ceiling = g.Launch
	case mark == Unknown:
		return math.MaxInt64
	}
	return max(ceiling, t)
}

// level adds launches of a duration to one of the three columns.
func (s sums) level(i int, d charge, t time.Duration, launches decimal.Decimal, mark Mark) {
	charged := place.Charged
	if i == atMost { // as a launch's reservation: an approved ceiling below that starts nothing
		charged = place.Most
	}
	cost, priced := charged(d.Shape, d.Price, t, d.Around(), d.Hold)
	if i != atMost && d.share != nil {
		cost, priced = d.share.charged(i, d.Decision, t)
	}
	for unit, v := range cost {
		if i == atMost {
			v = amount.Counted(v)
		}
		v = d.whole(unit, v)
		if place.Guessed(d.Price, unit) {
			s.at(unit).plus(i, v.Mul(launches), max(mark, Estimated))
		} else {
			s.at(unit).plus(i, v.Mul(launches), mark)
		}
	}
	for _, unit := range units {
		if !priced.Of(unit) {
			s.at(unit).plus(i, decimal.Zero, Unknown)
		}
	}
}

func (s sums) at(unit string) *sum {
	if s[unit] == nil {
		s[unit] = &sum{}
	}
	return s[unit]
}

// plus adds a value; a figure is as well known as its worst part, but for
// parts that are a known zero.
func (s *sum) plus(i int, v decimal.Decimal, mark Mark) {
	s.value[i] = s.value[i].Add(v)
	if !v.IsZero() || mark == Unknown {
		s.mark[i] = max(s.mark[i], mark)
	}
}

// lines lists the units that are charged; money is always listed.
func (s sums) lines(all bool) []CostLine {
	var out []CostLine
	for _, u := range units {
		v := s[u]
		if v == nil && u == place.USD {
			v = &sum{}
		}
		if v == nil || !all && (u == place.NodeHours || u == place.CPUHours && s[place.GPUHours] != nil) {
			continue
		}
		out = append(out, CostLine{Unit: u, Expected: v.figure(expected), P90: v.figure(p90), AtMost: v.figure(atMost)})
	}
	return out
}

// figure is one column. The known part of an unknown figure is not shown: it would be read as
// the whole.
func (s *sum) figure(i int) Figure {
	if s.mark[i] == Unknown {
		return Figure{Mark: Unknown}
	}
	if i == atMost { // a ceiling that is rounded down stops the last job
		return Figure{Text: s.value[i].Round(9).RoundCeil(6).String(), Mark: s.mark[i]}
	}
	return Figure{Text: s.value[i].Round(6).String(), Mark: s.mark[i]}
}
