package forecast

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
)

// units is the order in which amounts are listed.
var units = []string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours, place.NodeHours}

// A sum adds up one unit at three levels.
type sum struct {
	value [3]decimal.Decimal // expected, p90, at most
	mark  [3]Mark
}

type sums map[string]*sum

// addCosts fills Lines, ByPhase and ByBackend.
func (f *Forecast) addCosts(in Input) {
	total, phases, backends, scopes := sums{}, map[string]sums{}, map[string]sums{}, map[string]sums{}
	eachGroup(in, func(phase string, g Group, n int) {
		for _, s := range []sums{total, at(phases, phase), at(backends, g.Decision.Backend)} {
			s.add(g, n)
		}
		for _, sc := range in.Scopes {
			if sc.holds(phase, g.Decision.Backend) {
				at(scopes, sc.Name).add(g, n)
			}
		}
	})
	for name, s := range scopes {
		f.ByScope[name] = s.lines()
	}
	f.Lines = total.lines()
	for name, s := range phases {
		f.ByPhase[name] = s.lines()
	}
	for name, s := range backends {
		f.ByBackend[name] = s.lines()
	}
}

func at(m map[string]sums, key string) sums {
	if m[key] == nil {
		m[key] = sums{}
	}
	return m[key]
}

// add counts n launches of a group in.
func (s sums) add(g Group, n int) {
	expected, p90 := g.duration(false), g.duration(true)
	mark := g.Runtime.Mark
	s.level(0, g.Decision, expected, n, mark)
	s.level(1, g.Decision, p90, n, mark)
	ceiling, ceilingMark := AtMost(g)
	d := g.Decision
	if g.Dearest.Backend != "" {
		d = g.Dearest
	}
	s.level(2, d, ceiling, n, ceilingMark)
}

// AtMost is the longest a job of a group can take in all its launches; Unknown
// when no walltime is stated.
func AtMost(g Group) (time.Duration, Mark) {
	if g.Runtime.Ceiling == 0 {
		return g.Runtime.P90, Unknown
	}
	return g.Runtime.Ceiling * time.Duration(max(g.Launches, 1)), Known
}

func (s sums) level(i int, d place.Decision, t time.Duration, n int, mark Mark) {
	cost, priced := place.Cost(d.Shape, d.Price, d.WholeNode, t)
	for unit, v := range cost {
		s.at(unit).plus(i, v.Mul(decimal.NewFromInt(int64(n))), mark)
	}
	if !priced {
		s.at(place.USD).plus(i, decimal.Zero, Unknown)
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

// lines lists the units that are not zero; money is always listed.
func (s sums) lines() []Line {
	var out []Line
	for _, u := range units {
		v := s[u]
		if v == nil && u == place.USD {
			v = &sum{}
		}
		if v == nil || u == place.CPUHours && s[place.GPUHours] != nil {
			continue
		}
		out = append(out, Line{Unit: u, Expected: v.figure(0), P90: v.figure(1), AtMost: v.figure(2)})
	}
	return out
}

func (s *sum) figure(i int) Figure {
	return Figure{Text: s.value[i].Round(6).String(), Mark: s.mark[i]}
}
