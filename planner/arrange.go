package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// mostRequests is how many different requests a phase may hold: placements are
// two bytes a cell.
const mostRequests = 1<<16 - 2

// An arrangement is the placement of the jobs that start, the files that move for
// them, and when and at what cost they end.
type arrangement struct {
	forecaster // of the moves, and of the end of all
	forecast   forecast.Forecast
	spills     []spillover      // of phases that may overflow
	unpriced   []place.Decision // of jobs in flight with an unknown charge
	diags      diag.List
}

// arrange places the jobs that start, opens or shuts gates, blocks jobs behind
// held ones, and forecasts. Whether work is urgent follows from the forecast
// and decides placements, so an urgent plan is arranged twice.
func arrange(fs *facts, ps phases, hash *result.Hasher, smokes map[string]*state.Job, past *history.Queues) arrangement {
	kinds := make([][]Kind, len(ps.drafts))
	for at, w := range ps.drafts {
		kinds[at] = slices.Clone(w.pp.Kind)
	}
	ar := arranger{placer: placer{facts: fs, queues: past}, phases: ps, hash: hash, smokes: smokes}
	ar.overflows = !slices.ContainsFunc(fs.in.Campaign.Budgets, func(b lang.Budget) bool { return !b.Deadline.IsZero() })
	out := ar.arrange()
	if !ar.overflows && fs.late(out.forecast) {
		ar.overflows = true
		ps.undo(kinds)
		out = ar.arrange()
	}
	if fs.pressed(out.forecast) {
		ar.urgent = true
		ps.undo(kinds)
		out = ar.arrange()
	}
	return out
}

// live answers further questions about a plan.
func (ar *arrangement) live(p *Plan, hash *result.Hasher) Live {
	fc := ar.forecaster
	return Live{
		Hash: hash, Faster: func() []Faster { return fc.faster(p.Forecast) }, Today: fc.today,
		Assumed: func() forecast.Input {
			in, _ := fc.assumed()
			return in
		},
	}
}

// undo takes an arrangement of phases back.
func (ps phases) undo(kinds [][]Kind) {
	for at, w := range ps.drafts {
		copy(w.pp.Kind, kinds[at])
		for _, i := range w.gated {
			w.restore(i)
		}
		w.gated, w.pp.Hold, w.pp.Smoke, w.pp.Pilot, w.pp.Placements, w.pp.After = nil, "", nil, nil, nil, nil
		clear(w.pp.Place)
	}
}

// An arranger makes one arrangement.
type arranger struct {
	placer
	phases
	hash      *result.Hasher
	smokes    map[string]*state.Job // recorded, by address
	overflows bool                  // phases that may overflow do
}

func (ar *arranger) arrange() (out arrangement) {
	gates := gater{ar.placer, ar.phases, ar.hash, ar.smokes}
	spread := spreader{placer: ar.placer, phases: ar.phases}
	spill := spiller{placer: ar.placer, phases: ar.phases, on: ar.overflows}
	for _, w := range ar.drafts {
		ar.block(w)
		jobs, diags := ar.placePhase(w)
		out.diags.Append(diags...)
		if jobs != nil {
			out.diags.Append(ar.await(w)...)
			out.spills = append(out.spills, spill.overflow(w, jobs)...)
			spread.spread(w, jobs)
		}
		out.diags.Append(gates.gate(w)...)
		gates.pilot(w)
	}
	out.forecaster = forecaster{placer: ar.placer, phases: ar.phases}
	out.transfers, out.moves = moving(ar.facts, ar.phases)
	in, unpriced := out.assumed()
	out.forecast, out.unpriced = forecast.Make(in), unpriced
	return out
}

// late reports whether the p90 end comes after a deadline.
func (fs *facts) late(f forecast.Forecast) bool {
	end := fs.in.Now.Add(f.Walltime.P90)
	return slices.ContainsFunc(fs.in.Campaign.Budgets, func(b lang.Budget) bool { return !b.Deadline.IsZero() && end.After(b.Deadline) })
}

// pressed reports whether the p90 end comes too near to a deadline.
func (fs *facts) pressed(f forecast.Forecast) bool {
	within := fs.in.Campaign.Policy.UrgentWithin
	end := fs.in.Now.Add(f.Walltime.P90)
	return within > 0 && f.Walltime.P90 > 0 && slices.ContainsFunc(fs.in.Campaign.Budgets, func(b lang.Budget) bool { return !b.Deadline.IsZero() && b.Deadline.Sub(end) < within })
}

// stop turns the starting cells of a phase to another kind and remembers how
// to undo it.
func (w *draft) stop(i int, kind Kind, d Detail) {
	w.pp.Kind[i] = kind
	if len(w.gated) >= mostDetails {
		return
	}
	w.gated = append(w.gated, i)
	if old, ok := w.pp.Details[i]; ok {
		if w.before == nil {
			w.before = map[int]Detail{}
		}
		if _, kept := w.before[i]; !kept {
			w.before[i] = old
		}
		d.State, d.Reasons, d.From, d.Computed = old.State, old.Reasons, old.From, old.Computed
	}
	w.pp.Details[i] = d
}

func (w *draft) restore(i int) {
	if old, ok := w.before[i]; ok {
		w.pp.Details[i] = old
	} else {
		delete(w.pp.Details, i)
	}
}

// placePhase groups the starting cells by request and asks where they go. It
// returns the jobs by request, nil where none starts.
func (ar *arranger) placePhase(w *draft) ([]int, diag.List) {
	if len(w.reqs) > mostRequests {
		return nil, diag.List{{Summary: "A phase asks for too many different things", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(),
			Detail: fmt.Sprintf("Its jobs have %d different resource requests; at most %d can be placed. Let resources depend on fewer axis values.", len(w.reqs), mostRequests)}}
	}
	jobs, gone := make([]int, len(w.reqs)), map[int]string{}
	for i, k := range w.pp.Kind {
		if k.Starts() || k == Blocked {
			if name := ar.went(w, i); name != "" {
				gone[i], w.pp.Place[i] = name, 0
				continue
			}
			r := w.p.RequestOf(i, lang.Run)
			w.pp.Place[i] = uint16(r + 1)
			jobs[r]++
		}
	}
	var groups []place.Group
	var of []int
	for r, n := range jobs {
		if n > 0 {
			groups = append(groups, w.expecting(w.reqs[r], n))
			of = append(of, r)
		}
	}
	w.pp.Placements = make([]place.Decision, len(w.reqs)+1)
	diags := ar.fallbacks(w)
	if len(groups)+len(gone) == 0 {
		return nil, diags
	}
	decisions, more := place.Decide(ar.input(groups))
	diags.Append(more...)
	if left := ar.leaveFailed(w, decisions, of); left > 0 {
		return ar.placePhase(w) // without them
	}
	for k, d := range decisions {
		w.pp.Placements[of[k]+1] = w.following(d, of[k])
		w.nowhere = w.nowhere || d.Backend == "" && d.Away == ""
	}
	w.leave(gone)
	return jobs, diags
}

// leaveFailed leaves jobs failed that fit no place and that only the default
// retry would start: nobody wrote it, so it is no error of the campaign.
func (ar *arranger) leaveFailed(w *draft, decisions []place.Decision, of []int) (left int) {
	for k, d := range decisions {
		if d.Backend != "" || d.Away != "" {
			continue
		}
		for i, at := range w.pp.Place {
			if int(at) != of[k]+1 || !ar.unasked(w, i) {
				continue
			}
			left++
			w.stop(i, HeldKind, Detail{Text: ar.observe(w.record(i)).Failure() + "; it is not retried, because no place fits it now"})
			w.pp.Place[i] = 0
		}
	}
	return left
}

// group is jobs of one request, as they are placed.
func (w *draft) group(r lang.Request, n int) place.Group {
	return place.Group{
		Phase: w.p, Jobs: n, Shape: r.Shape, Options: r.Options, Candidates: w.p.Candidates, Prefer: w.p.Prefer,
		Checkpoint: w.p.Checkpoint != nil,
	}
}

// expecting is a group of jobs that take as long as those of the phase did.
func (w *draft) expecting(r lang.Request, n int) place.Group {
	g := w.group(r, n)
	runtime := w.past.measurements().Runtime(g.Shape.Walltime)
	if g.Expected = runtime.Expected; runtime.Seen > 0 {
		g.Takes = runtime.P90
	}
	return g
}

// A placer decides where groups of jobs go.
type placer struct {
	*facts
	queues *history.Queues
	urgent bool // a deadline is near
}

func (pl *placer) input(groups []place.Group) place.Input {
	in := &pl.in
	return place.Input{
		Groups: groups, Backends: in.Campaign.Backends, Pools: in.Pools, Quotes: in.Quotes, Policy: in.Campaign.Policy,
		Unreachable: pl.away(), Unasked: in.Observed.Unasked, Begun: len(pl.st.Jobs) > 0, Urgent: pl.urgent, Can: in.Can, Waited: pl.queues.Waited, Risen: pl.rises(),
	}
}

// WouldGo is where a job that does not start in a plan would go if it were run
// now, among other backends than its phase's candidates where some are named. It
// is expected to take as long as the jobs of its phase did.
func WouldGo(in Input, pp *PhasePlan, cell int, among ...string) place.Decision {
	fs, _ := newFacts(in)
	w := &draft{p: pp.Phase, pp: pp, reqs: pp.Phase.Requests(lang.Run), rec: pp.Records}
	rememberPast(fs.st, phases{drafts: []*draft{w}})
	pl := placer{facts: fs, queues: pastOfQueues(fs, phases{}, nil)}
	g := w.expecting(w.request(cell), 1)
	if len(among) > 0 {
		g.Candidates = among
	}
	d, _ := place.Decide(pl.input([]place.Group{g}))
	d[0].After, _ = pl.fallbacksOf(w, pp.Phase.RequestOf(cell, lang.Run))
	return d[0]
}
