// Package forecast estimates the cost and the end of a plan: money in
// decimals, walltime by discrete-event simulation.
package forecast

import (
	"slices"
	"time"
)

// A Mark says how well a figure is known.
type Mark uint8

// The marks. An unknown figure is never shown as zero.
const (
	Known Mark = iota
	Estimated
	Unknown
)

// A Figure is an amount with its mark, as decimal text; "" when it is unknown.
type Figure struct {
	Text string
	Mark Mark
}

// A CostLine is one unit of the cost table.
type CostLine struct {
	Unit                  string // "usd", "service_units", "gpu_hours", "cpu_hours", "node_hours"
	Expected, P90, AtMost Figure
}

// LineOf is the line of a unit, the zero one where there is none.
func LineOf(lines []CostLine, unit string) CostLine {
	for _, l := range lines {
		if l.Unit == unit {
			return l
		}
	}
	return CostLine{}
}

// A Forecast is the cost and walltime of a plan.
type Forecast struct {
	Lines     []CostLine
	Beside    []CostLine // counted, and not in Lines as nobody asked: node-hours, and CPU-hours beside GPU-hours
	Unpacked  CostLine   // node-hours, did no jobs share nodes; the zero one where none do
	Walltime  Span
	Phases    []PhaseSpan
	Critical  []string // phases, first to last
	ByPhase   map[string][]CostLine
	ByBackend map[string][]CostLine
	ByPool    map[string][]CostLine // "slurm.alpine aa100"
	ByScope   map[string][]CostLine // by Input.Scopes, every unit
	Work      map[string]Work       // by phase, every unit
	Basis     []string              // "no history yet: expected is half of each walltime, …"
	LeftOut   int                   // jobs that start and have no place: no sum and no end is known
}

// Work is the part of a phase that starts or is in flight.
type Work struct {
	Jobs  int // with the runs of its smokes
	Lines []CostLine
}

// Show lists a unit among Lines, where it is counted.
func (f *Forecast) Show(unit string) {
	i := slices.IndexFunc(f.Beside, func(l CostLine) bool { return l.Unit == unit })
	if i < 0 {
		return
	}
	f.Lines, f.Beside = append(f.Lines, f.Beside[i]), slices.Delete(f.Beside, i, i+1)
	slices.SortFunc(f.Lines, func(a, b CostLine) int { return slices.Index(units, a.Unit) - slices.Index(units, b.Unit) })
}

// All are Lines and Beside.
func (f *Forecast) All() []CostLine { return slices.Concat(f.Lines, f.Beside) }

// LeaveOut marks totals as unknown, for so many jobs without a place: the sum over the others
// would be read as that over all.
func (f *Forecast) LeaveOut(jobs int) {
	if f.LeftOut = jobs; jobs == 0 {
		return
	}
	for _, lines := range [][]CostLine{f.Lines, f.Beside} {
		for i, l := range lines {
			lines[i] = UnknownLine(l.Unit)
		}
	}
	f.Walltime.Mark = Unknown
}

// UnknownLine is the line of a unit without any figure.
func UnknownLine(unit string) CostLine {
	nothing := Figure{Mark: Unknown}
	return CostLine{Unit: unit, Expected: nothing, P90: nothing, AtMost: nothing}
}

// A Span is a duration at two quantiles.
type Span struct {
	P50, P90 time.Duration
	Mark     Mark
}

// A PhaseSpan is one row of the Gantt chart: when jobs of the phase are queued
// or running.
type PhaseSpan struct {
	Phase string
	Busy  []Interval // at expected durations, from the start of the plan
}

// An Interval of time since the start.
type Interval struct{ From, To time.Duration }
