package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/remarks"
	"github.com/muster-run/muster/state"
)

// An Explanation is everything a plan can say of one job.
type Explanation struct {
	Address   string
	Label     string
	Kind      Kind
	Detail    Detail
	Result    Hash
	Request   Hash
	Fields    []lang.Field // what determines the result, as written
	Decision  place.Decision
	Goes      bool          // false: Decision is where it would go if it were run now
	Ceiling   state.Amounts // of all its launches
	Priced    bool          // false: a price is not known
	Attempts  int           // most launches
	Waits     []Wait
	Unlocks   []string // phases that read its outputs
	Smoke     string   // what the gate of its phase does
	Pilot     bool
	Protected bool
}

// A Wait is one thing that must be done before a job starts.
type Wait struct {
	On      string // input or phase
	Jobs    int    // producers in all
	Open    int    // of them not done
	Address string // the first open one
	Kind    Kind   // what the plan does with that one
}

// Explain says what one job would do and why, every candidate with its
// figures, and what it waits for.
func Explain(p *Plan, in Input, phase string, cell int) (Explanation, error) {
	pp := p.Phase(phase)
	if pp == nil || cell < 0 || cell >= len(pp.Kind) {
		return Explanation{}, fmt.Errorf("the plan has no job %d of phase %q", cell, phase)
	}
	x := Explanation{
		Address: pp.Phase.Address(cell), Label: pp.Phase.Label(cell), Kind: pp.Kind[cell], Detail: pp.Detail(cell),
		Result: pp.Result[cell], Request: Hash(requestOf(pp.Phase, cell).Hash), Fields: pp.Phase.Fields(cell, lang.Run),
		Decision: pp.Decision(cell), Attempts: attempts(pp.Phase), Pilot: slices.Contains(pp.Pilot, cell),
	}
	x.Goes = x.Kind.Starts() || x.Kind == Blocked
	if x.Decision.Backend == "" && x.Decision.Candidates == nil || !x.Goes {
		x.Decision = wouldGo(in, pp.Phase, cell)
	}
	x.Ceiling, x.Priced = text(launches.Ceiling(x.Decision, pp.Phase.Retry, in.Pools))
	x.Protected = pp.Phase.Lifecycle.PreventRerun || in.State != nil && in.State.Protected[phase]
	for _, name := range pp.Phase.DependsOn {
		if from := p.Phase(name); from != nil {
			x.Waits = append(x.Waits, from.wait("phase."+name, allCells(len(from.Kind))))
		}
	}
	for _, i := range pp.Phase.Inputs {
		if from := p.Phase(i.From.Name); from != nil {
			x.Waits = append(x.Waits, from.wait("input."+i.Name, members(i, cell)))
		}
	}
	for _, other := range p.Phases {
		for _, i := range other.Phase.Inputs {
			if i.From.Name == phase && !slices.Contains(x.Unlocks, other.Phase.Name) {
				x.Unlocks = append(x.Unlocks, other.Phase.Name)
			}
		}
	}
	x.Smoke = gateText(pp)
	return x, nil
}

// wouldGo is the placement of a job that does not start in the plan.
func wouldGo(in Input, p *lang.Phase, cell int) place.Decision {
	m := &maker{in: in, st: &state.State{}}
	w := &work{p: p}
	d, _ := place.Decide(m.placeInput([]place.Group{m.placeGroup(w, requestOf(p, cell), 1)}))
	return d[0]
}

func (pp *PhasePlan) wait(on string, cells []int) Wait {
	w := Wait{On: on, Jobs: len(cells)}
	for _, i := range cells {
		switch pp.Kind[i] {
		case None, Move, Accept, Bytes, Record:
			continue
		}
		if w.Open++; w.Open == 1 {
			w.Address, w.Kind = pp.Phase.Address(i), pp.Kind[i]
		}
	}
	return w
}

func allCells(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func gateText(pp *PhasePlan) string {
	g := pp.Smoke
	switch {
	case pp.Hold != "":
		return pp.Hold
	case g == nil:
		return ""
	case len(g.Run) > 0:
		return fmt.Sprintf("%s first, on %s", remarks.Smokes(len(g.Run)), g.Place.Backend)
	case len(g.Waiting) > 0:
		return "the smoke is running"
	case g.Override != "":
		return g.Override
	}
	return g.Text
}
