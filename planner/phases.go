package planner

import (
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// A draft is one phase in the making: columns by cell, each with one step that
// fills it. PhasePlan has those that the plan keeps.
type draft struct {
	p    *lang.Phase
	pp   *PhasePlan
	reqs []lang.Request // distinct requests of runs

	rec       []*state.Job       // recordsOf, inferMoves: nil as a whole when there is none
	from      map[int]string     // recordsOf, inferMoves: former address of moved records
	forgotten map[int]*state.Job // recordsOf

	selected []bool // selectCells, includeNeeds: nil is every cell
	rerun    []bool // selectCells: nil is none
	accept   []bool // selectCells: nil is none

	same  map[int]Hash   // hashPhases: computed hash of accepted and ignored changes
	older map[int][]Hash // hashPhases: hashes by scheme, of records made under earlier ones

	restored  map[int]*Restorable // restorable, adoptFiles: results that are there
	unadopted map[int]string      // adoptFiles: why files that an import names are not adopted

	past *past // knows how long jobs of the phase took

	gated   []int          // arrange: cells that a gate or a block stopped
	before  map[int]Detail // arrange: their earlier reasons
	nowhere bool           // arrange: a request of it fits no place
}

// Phases are those of a campaign, in its order: producers come first.
type phases struct {
	drafts  []*draft
	byPhase map[string]*draft
}

func newPhases(in Input) phases {
	ps := phases{byPhase: map[string]*draft{}}
	for _, p := range in.Campaign.Phases {
		n := p.Len()
		w := &draft{p: p, reqs: p.Requests(lang.Run), pp: &PhasePlan{Phase: p, Details: map[int]Detail{}, Kind: make([]Kind, n), Place: make([]uint16, n)}}
		if p.Source != nil {
			w.pp.Source = in.Observed.Sources[p.Source.Key()]
		}
		w.pp.Raw = in.Observed.Contents.Files(p)
		w.pp.Images, w.pp.SmokeImages = in.Observed.Contents.Digests(p, lang.Run), in.Observed.Contents.Digests(p, lang.SmokeRun)
		w.pp.ImageStamps = in.Observed.Contents.Stamps(p)
		ps.drafts = append(ps.drafts, w)
		ps.byPhase[p.Name] = w
	}
	return ps
}

func (ps phases) plans() (out []*PhasePlan) {
	for _, w := range ps.drafts {
		out = append(out, w.pp)
	}
	return out
}

// cellOf finds the cell of an address.
func (ps phases) cellOf(address string) (*draft, int, bool) {
	phase, key, ok := addr.Split(address)
	if !ok {
		return nil, 0, false
	}
	w := ps.byPhase[phase]
	if w == nil {
		return nil, 0, false
	}
	i, ok := w.p.Index(key)
	return w, i, ok
}

// counted are the jobs of the campaign, and those that -target selects.
func (ps phases) counted() (c Counts) {
	for _, w := range ps.drafts {
		c.Total += len(w.pp.Kind)
		for i := range w.pp.Kind {
			if w.chosen(i) {
				c.Selected++
			}
		}
	}
	return c
}

// anythingRuns reports whether anything runs, so that a finished campaign breaks no
// deadline.
func (ps phases) anythingRuns() bool {
	for _, w := range ps.drafts {
		if slices.ContainsFunc(w.pp.Kind, func(k Kind) bool { return k.Starts() || k == Continue }) {
			return true
		}
	}
	return false
}

// maySpend reports whether an approval may cost something: jobs start, run, or may yet.
func (ps phases) maySpend() bool {
	for _, w := range ps.drafts {
		if slices.ContainsFunc(w.pp.Kind, func(k Kind) bool { return k != None && k != Skipped }) || w.pp.Smoke != nil && len(w.pp.Smoke.Run) > 0 {
			return true
		}
	}
	return false
}

// anythingStarts reports whether a job or a smoke is started, or waits for one.
func (ps phases) anythingStarts() bool {
	for _, w := range ps.drafts {
		if w.pp.Smoke != nil && len(w.pp.Smoke.Run) > 0 || w.starting() {
			return true
		}
	}
	return false
}

// backendsInUse are those where something goes or runs, or files come from.
func (ps phases) backendsInUse(moving []Transfer) map[string]bool {
	used := map[string]bool{}
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			switch {
			case k.Starts() || k == Blocked:
				if at := w.pp.Place[i]; at > 0 {
					used[w.pp.Placements[at].Backend] = true
				}
			case k == Continue || k == UnknownAt || k == Adopt:
				if at := w.record(i).Last(); at != nil {
					used[at.Backend] = true
				}
			}
		}
		if g := w.pp.Smoke; g != nil && len(g.Run)+len(g.Waiting) > 0 {
			used[g.Place.Backend] = true
		}
	}
	for _, t := range moving {
		used[t.From] = true
	}
	return used
}

// usedPools are the pools that the plan's work goes to, in order, each once.
func (ps phases) usedPools() [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	for _, w := range ps.drafts {
		for _, d := range w.pp.Placements {
			key := [2]string{d.Backend, d.Pool}
			if d.Backend != "" && !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}

// record is a cell's record, or nil.
func (w *draft) record(i int) *state.Job {
	if w.rec == nil {
		return nil
	}
	return w.rec[i]
}

func (w *draft) is(column []bool, i int) bool { return column != nil && column[i] }

// chosen reports whether -target leaves a cell in the plan.
func (w *draft) chosen(i int) bool { return w.selected == nil || w.selected[i] }

// starting reports whether a job of the phase starts now or once its inputs are free.
func (w *draft) starting() bool {
	return slices.ContainsFunc(w.pp.Kind, func(k Kind) bool { return k.Starts() || k == Blocked })
}

// starts reports whether a job of the phase starts now.
func (w *draft) starts() bool { return slices.ContainsFunc(w.pp.Kind, Kind.Starts) }

// request is the request of a cell as a run.
func (w *draft) request(i int) lang.Request { return w.reqs[w.p.RequestOf(i, lang.Run)] }

// groupJobs counts the starting jobs by placement; a blocked job costs nothing
// yet.
func (w *draft) groupJobs() []int {
	out := make([]int, len(w.pp.Placements))
	for i, k := range w.pp.Kind {
		if at := int(w.pp.Place[i]); k.Starts() && at < len(out) {
			out[at]++
		}
	}
	return out
}

// unplaced counts the jobs that would start and have nowhere to.
func (w *draft) unplaced() (n int) {
	for i, at := range w.pp.Place {
		if w.pp.Kind[i].Starts() && (at == 0 || w.pp.Placements[at].Backend == "") {
			n++
		}
	}
	return n
}

// decisionFor is where a cell goes, or would: a cell that does not start goes
// where the first of its phase that does goes.
func (w *draft) decisionFor(cell int) place.Decision {
	if at := w.p.RequestOf(cell, lang.Run) + 1; at < len(w.pp.Placements) && w.pp.Placements[at].Backend != "" {
		return w.pp.Placements[at]
	}
	for _, d := range w.pp.Placements {
		if d.Backend != "" {
			return d
		}
	}
	return place.Decision{}
}

// placed is a phase as transfers see it.
func (w *draft) placed() *transfers.Phase {
	return &transfers.Phase{Phase: w.p, Starts: func(i int) bool { return w.pp.Kind[i].Starts() }, Place: w.pp.Place, Placements: w.pp.Placements, Records: w.results()}
}
