// Package explain reports everything that a plan knows about one job, and from
// the state alone which jobs wait for something that will not happen by itself.
package explain

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/state"
)

// A Job is everything a plan can say of one job.
type Job struct {
	Address   string
	Phase     string
	Cell      int
	Label     string
	Kind      planner.Kind
	Detail    planner.Detail
	Result    planner.Hash
	Request   planner.Hash
	Fields    []lang.Field // what determines the result, as written
	Decision  place.Decision
	Goes      bool          // false: Decision is where it would go if it were run now
	Ceiling   state.Amounts // of all its launches
	Priced    place.Known   // in which units the price is known of every candidate
	Attempts  int           // most launches
	Waits     []Prerequisite
	Notes     []state.Note // on the job and on its phase
	Barred    []string     // what else keeps it from starting, as sentences without a period
	Unlocks   []string     // phases that read its outputs
	Smoke     string       // the state of its phase's gate
	Held      bool         // with its phase, for what Smoke says
	Pilot     bool
	Without   []planner.Lack // of the recorded job
	Protected bool
}

// A Prerequisite is one thing that must be done before a job starts.
type Prerequisite struct {
	On      string       // input or phase
	Jobs    int          // producers in all
	Open    int          // of them not done
	Address string       // the first open one
	Kind    planner.Kind // what the plan does with that one

	Required int // how many must be done
}

// Of is the action of one job and its reason, every candidate with its figures, and its
// dependencies.
func Of(p *planner.Plan, in planner.Input, phase string, cell int) (Job, error) {
	pp := p.Phase(phase)
	if pp == nil || cell < 0 || cell >= len(pp.Kind) {
		return Job{}, fmt.Errorf("the plan has no job %d of phase %q", cell, phase)
	}
	x := Job{
		Address: pp.Phase.Address(cell), Phase: phase, Cell: cell, Label: pp.Phase.Label(cell), Kind: pp.Kind[cell], Detail: pp.Detail(cell),
		Result: pp.Result[cell], Request: planner.Hash(pp.Phase.Requests(lang.Run)[pp.Phase.RequestOf(cell, lang.Run)].Hash), Fields: determinants(p, pp, cell, in.State, in.Observed.Contents),
		Decision: pp.Decision(cell), Pilot: slices.Contains(pp.Pilot, cell),
	}
	x.Without = planner.Lacks(pp.Phase, x.Detail.State, in.State)
	x.Goes = x.Kind.Starts() || x.Kind == planner.Blocked
	if x.Decision.Backend == "" && x.Decision.Candidates == nil || !x.Goes {
		x.Decision = planner.WouldGo(in, pp, cell)
	}
	most, priced := ceiling.Ceiling(x.Decision, pp.Phase.Retry, in.Pools)
	x.Ceiling, x.Priced = amount.Texts(most), priced
	x.Attempts = ceiling.MostOf(x.Decision, pp.Phase.Retry, in.Pools)
	x.Protected = pp.Phase.Lifecycle.PreventRerun || in.State != nil && in.State.Protected[phase]
	for _, name := range pp.Phase.DependsOn {
		if from := p.Phase(name); from != nil {
			x.Waits = append(x.Waits, waitFor(from, "phase."+name, allCells(len(from.Kind))))
		}
	}
	for _, i := range pp.Phase.Inputs {
		if from := p.Phase(i.From.Name); from != nil {
			w := waitFor(from, "input."+i.Name, i.Members(i.GroupOf(cell)))
			w.Required = i.Required(w.Jobs)
			x.Waits = append(x.Waits, w)
		}
	}
	for _, other := range p.Phases {
		for _, i := range other.Phase.Inputs {
			if i.From.Name == phase && !slices.Contains(x.Unlocks, other.Phase.Name) {
				x.Unlocks = append(x.Unlocks, other.Phase.Name)
			}
		}
	}
	if in.State != nil {
		x.Notes = in.State.Notes[x.Address]
		if of := "phase." + phase; of != x.Address { // which it is for a phase of one job
			x.Notes = slices.Concat(in.State.Notes[of], x.Notes)
		}
	}
	x.Smoke, x.Held = gateText(pp), x.Kind == planner.HeldKind && pp.Hold != "" && x.Detail.Text == pp.Hold
	if at := x.Detail.State.Last(); x.Goes || x.Kind == planner.Continue && at != nil && at.Started.IsZero() {
		x.Barred = append(fullVolumes(in, x), uncovered(in, phase, x)...)
	}
	// Last, since no ceiling counts these; and a copy: the plan keeps its own.
	x.Decision.Candidates = slices.Concat(x.Decision.Candidates, unlisted(in, pp, cell, x.Decision))
	return x, nil
}

func waitFor(pp *planner.PhasePlan, on string, cells []int) Prerequisite {
	w := Prerequisite{On: on, Jobs: len(cells), Required: len(cells)}
	for _, i := range cells {
		switch pp.Kind[i] {
		case planner.None, planner.Move, planner.Accept, planner.Bytes, planner.Record:
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

func gateText(pp *planner.PhasePlan) string {
	g := pp.Smoke
	switch {
	case pp.Hold != "":
		return pp.Hold
	case g == nil:
		return ""
	case len(g.Run) > 0:
		return fmt.Sprintf("%s first, on %s", warnings.Smokes(len(g.Run)), g.Place.Backend)
	case len(g.Waiting) > 0:
		return "the smoke is running"
	case g.Override != "":
		return g.Override
	}
	return g.Text
}
