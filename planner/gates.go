package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A gater lets a phase start, behind its smokes and its pilot, or holds it.
type gater struct {
	placer
	phases
	hash   *result.Hasher
	smokes map[string]*state.Job // recorded, by address
}

// gate says what a phase's smoke does: which cells are still to run, which
// passed, and whether a failure holds the phase. A phase in which nothing
// starts has no gate, but for smokes behind which jobs are queued.
func (ga *gater) gate(w *draft) diag.List {
	s := w.p.Smoke
	if s == nil || len(s.Cells) == 0 {
		return nil
	}
	if !w.starting() {
		w.pp.Smoke = ga.smokesAhead(w)
		return nil
	}
	g := &Gate{Prints: make([]Hash, len(s.Cells)), Repeat: s.Repeat}
	w.pp.Smoke = g
	var why []string
	for k, cell := range s.Cells {
		g.Prints[k] = ga.hash.Fingerprint(w.p, cell, ga.class(w, cell), nil)
		if text := ga.verdict(w, g, k, cell); text != "" {
			why = append(why, text)
		}
	}
	var diags diag.List
	if c := s.Canary; c != nil && slices.Contains(g.Run, c.Cell) {
		g.Canary = []int{c.Cell}
	}
	g.Place, diags = ga.placeSmoke(w, g)
	switch {
	case len(why) > 0:
		w.pp.Hold = strings.Join(why, "; ")
		w.stopStarting(HeldKind, Detail{Text: w.pp.Hold})
	case len(g.Run) == 0 && len(g.Waiting) == 0 && len(g.Passed) > 0 && !g.When.IsZero():
		g.Text = "smoke skipped: same config passed on " + g.When.Format("2006-01-02") + printed(g)
	default:
		ga.smokeBlocked(w, g)
	}
	return diags
}

// printLen is how much of a fingerprint a plan shows.
const printLen = 12

// printed is the fingerprints of a gate, by as much of each as tells them apart:
// those that passed under them are in the state by the whole.
func printed(g *Gate) string {
	var short []string
	for _, h := range g.Prints {
		if s := h.String()[:printLen]; !slices.Contains(short, s) {
			short = append(short, s)
		}
	}
	if len(short) > 2 {
		return fmt.Sprintf(" (%s and %d more)", short[0], len(short)-1)
	}
	return " (" + strings.Join(short, ", ") + ")"
}

// smokesAhead is the gate of a phase that was submitted whole, while it waits
// for its smokes in the queue, nil when no smoke is in its way. They count under
// the fingerprint they have.
func (ga *gater) smokesAhead(w *draft) *Gate {
	queued := slices.Contains(w.pp.Kind, Continue)
	g := &Gate{Prints: make([]Hash, len(w.p.Smoke.Cells))}
	for k, cell := range w.p.Smoke.Cells {
		job := ga.smokes[state.SmokeAddress(w.p.Address(cell))]
		if job == nil {
			continue
		}
		g.Prints[k], _ = result.ParseHash(job.Result)
		if _, ok := ga.override(w, cell, job.Result); ok {
			return nil
		}
		switch v, judged := ga.verdicts()[job.Result]; {
		case job.Status.Active():
			g.Waiting = append(g.Waiting, cell)
		case judged && v.Passed:
			g.Passed = append(g.Passed, cell)
		case judged && queued && !v.Undecided():
			g.Failed = append(g.Failed, cell)
		}
	}
	if len(g.Waiting)+len(g.Failed) == 0 {
		return nil
	}
	return g
}

// stopStarting stops every cell that would start.
func (w *draft) stopStarting(kind Kind, d Detail) {
	for i, k := range w.pp.Kind {
		if k.Starts() && k != Resubmit {
			w.stop(i, kind, d)
		}
	}
}

// verdict sorts one smoke cell into its gate; hold says why it holds the phase.
// A smoke that passed counts for its config: -rerun repeats one that failed only.
func (ga *gater) verdict(w *draft, g *Gate, k, cell int) (hold string) {
	print := g.Prints[k].String()
	if o, ok := ga.override(w, cell, print); ok {
		g.Passed = append(g.Passed, cell)
		g.Override = fmt.Sprintf("gate overridden by %s: %s", o.Who, o.Reason)
		return ""
	}
	again := w.is(w.rerun, cell)
	v, ok := ga.verdicts()[print]
	if v.Undecided() && v.Revoked != "" {
		g.Text = "again, since " + v.Revoked
	}
	if ok && !v.Undecided() && (v.Passed || !again) {
		if v.Passed {
			g.Passed = append(g.Passed, cell)
			if v.At.After(g.When) {
				g.When = v.At
			}
			return ""
		}
		g.Failed = append(g.Failed, cell)
		return fmt.Sprintf("smoke of %s failed on %s: %s", w.p.Address(cell), v.At.Format("2006-01-02"), orElse(v.Message, "see its log"))
	}
	job := ga.smokes[state.SmokeAddress(w.p.Address(cell))]
	if job == nil || job.Result != print || again && !job.Status.Active() {
		g.Run = append(g.Run, cell)
		return ""
	}
	switch f := ga.observe(job); {
	case f.Absent, v.Undecided() && !job.Status.Active():
		g.Run = append(g.Run, cell)
	case f.Status.Active(), job.Status.Active() && f.Status == state.Completed: // an apply judges it
		g.Waiting = append(g.Waiting, cell)
	case f.Status == state.Completed, f.Status == state.Cancelled && f.Class == offer.Blocked: // ended without a verdict
		g.Run = append(g.Run, cell)
	default:
		g.Failed = append(g.Failed, cell)
		return fmt.Sprintf("smoke of %s: %s", w.p.Address(cell), f.Head())
	}
	return ""
}

// class is the environment class a cell's run will see.
func (ga *gater) class(w *draft, cell int) string {
	d := w.decisionFor(cell)
	if family := ga.family(d); family != "" {
		return d.Backend + "/" + family
	}
	return d.Backend
}

// placeSmoke puts the smokes on the cheapest pool of the phase's environment
// class; a smoke with a place of its own goes there.
func (ga *gater) placeSmoke(w *draft, g *Gate) (d place.Decision, diags diag.List) {
	if len(g.Run) > 0 {
		return ga.smokeDecision(w, append(g.Canary, g.Run...)[0], len(g.Run)) // a canary's, which asks for most
	}
	if len(g.Passed) > 0 { // its pass may be taken away while the plan is applied
		d, _ = ga.smokeDecision(w, g.Passed[0], 1)
	}
	return d, nil
}

func (ga *gater) smokeDecision(w *draft, cell, n int) (place.Decision, diag.List) {
	v := w.p.Smoke.Longest(cell)
	r := w.p.Requests(v)[w.p.RequestOf(cell, v)]
	run := w.decisionFor(cell)
	group := w.group(r, n)
	group.Smoke, group.Shape.Smoke, group.Checkpoint = true, true, false
	group.Class = ga.family(run)
	if len(w.p.Smoke.Candidates) > 0 {
		group.Candidates = w.p.Smoke.Candidates
	} else {
		group.Within = run.Backend
	}
	decisions, diags := place.Decide(ga.input([]place.Group{group}))
	if run.Backend == "" { // the phase itself fits nowhere, which is said already
		diags = nil
	}
	return decisions[0], diags
}

// smokeBlocked blocks the phase when a smoke that must run waits for
// something held.
func (ga *gater) smokeBlocked(w *draft, g *Gate) {
	for _, cell := range g.Run {
		if w.pp.Kind[cell] == Blocked || ga.blockedBy(w, cell) != nil {
			w.stopStarting(Blocked, Detail{Waits: []string{state.SmokeAddress(w.p.Address(cell))}})
			g.Run, g.Canary = nil, nil
			return
		}
	}
}

// pilot lists the cells that run alone first. A pilot that is held keeps the
// rest of its phase from starting, unless a person overrides it.
func (ga *gater) pilot(w *draft) {
	if w.pp.Hold != "" {
		return
	}
	for _, cell := range w.p.Pilot {
		switch k := w.pp.Kind[cell]; {
		case k.Starts():
			w.pp.Pilot = append(w.pp.Pilot, cell)
		case k == HeldKind || k == Blocked:
			if _, ok := ga.override(w, cell, w.pp.Result[cell].String()); ok {
				continue
			}
			w.stopStarting(Blocked, Detail{Waits: []string{w.p.Address(cell)}})
			w.pp.Pilot = nil
			return
		}
	}
}
