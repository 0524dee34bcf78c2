package forecast

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/place"
)

// Make forecasts cost and walltime.
func Make(in Input) Forecast {
	f := Forecast{ByPhase: map[string][]CostLine{}, ByBackend: map[string][]CostLine{}, ByPool: map[string][]CostLine{}, ByScope: map[string][]CostLine{}, Work: map[string]Work{}}
	f.addCosts(in)
	f.Basis = basis(in)
	mid, p50, p90 := ends(&in)
	f.Phases = mid.spans()
	f.Critical = mid.critical()
	f.Walltime = Span{P50: p50, P90: p90, Mark: walltimeMark(in)}
	return f
}

// walltimeMark is the worst mark of any runtime that counts.
func walltimeMark(in Input) Mark {
	m := Known
	eachGroup(in, func(_ string, g Group, n int) {
		if n > 0 {
			m = max(m, g.Runtime.Mark)
		}
	})
	return m
}

// eachGroup calls fn with every group that has work, smokes included.
func eachGroup(in Input, fn func(phase string, g Group, cells int)) {
	for _, p := range in.Phases {
		if n := len(p.Smoke); n > 0 {
			fn(p.Name, p.SmokeJob, n)
		}
		counts := make([]int, len(p.Groups))
		for _, g := range p.Of {
			if g != 0 && g != Never {
				counts[g]++
			}
		}
		for i, n := range counts {
			if n > 0 {
				fn(p.Name, p.Groups[i], n)
			}
		}
	}
}

// basis lists how runtimes are known, each once, in the order met, then whose
// estimated prices the plan counts, and how long transfers take.
func basis(in Input) []string {
	var out, guessed []string
	eachGroup(in, func(_ string, g Group, _ int) {
		if b := g.Runtime.Basis; b != "" && !slices.Contains(out, b) {
			out = append(out, b)
		}
		if d := g.Decision; d.Price.Estimated && place.Charges(d.Price) && !slices.Contains(guessed, d.Backend) {
			guessed = append(guessed, d.Backend)
		}
	})
	if len(guessed) > 0 {
		out = append(out, "the charge of "+strings.Join(guessed, " and ")+" is an estimate: the provider guesses its rates")
	}
	for _, h := range in.Transfers {
		if h.Basis != "" {
			out = append(out, h.Basis)
		}
	}
	return out
}

// spans are the rows of the Gantt chart, one a phase that does anything, and one
// for each way that takes its outputs elsewhere.
func (s *sim) spans() []PhaseSpan {
	var out []PhaseSpan
	for _, n := range s.nodes {
		if len(n.busy) == 0 || s.brief(n) {
			continue
		}
		busy := slices.Clone(n.busy)
		for i := range busy {
			if busy[i].To < 0 { // never ended: waits for something held
				busy[i].To = s.end
			}
		}
		if k := len(out); k > 0 && out[k-1].Phase == n.phase {
			out[k-1].Busy = join(append(out[k-1].Busy, busy...))
			continue
		}
		out = append(out, PhaseSpan{Phase: n.phase, Busy: busy})
	}
	return out
}

// join merges intervals that touch.
func join(in []Interval) []Interval {
	slices.SortFunc(in, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	out := in[:1]
	for _, iv := range in[1:] {
		last := &out[len(out)-1]
		if iv.From <= last.To {
			last.To = max(last.To, iv.To)
		} else {
			out = append(out, iv)
		}
	}
	return out
}

// critical is the chain of phases behind the last job to end: each job was
// released by the end of the one before it.
func (s *sim) critical() []string {
	var out []string
	for at := s.last; at != nobody; at = s.nodes[at.node].cause[at.cell] {
		n := s.nodes[at.node]
		if (len(out) == 0 || out[len(out)-1] != n.phase) && !s.brief(n) {
			out = append(out, n.phase)
		}
	}
	slices.Reverse(out)
	return out
}
