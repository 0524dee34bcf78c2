package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// gate says what a phase's smoke does: which cells are still to run, which
// passed, and whether a failure holds the phase. A phase in which nothing
// starts has no gate, but for smokes behind which jobs are queued.
func (m *maker) gate(w *work) {
	s := w.p.Smoke
	if s == nil || len(s.Cells) == 0 {
		return
	}
	if !w.starting() {
		m.smokesAhead(w)
		return
	}
	g := &Gate{Prints: make([]Hash, len(s.Cells)), Repeat: s.Repeat}
	w.pp.Smoke = g
	var why []string
	for k, cell := range s.Cells {
		g.Prints[k] = m.hash.Fingerprint(w.p, cell, m.class(w, cell))
		if text := m.verdict(w, g, k, cell); text != "" {
			why = append(why, text)
		}
	}
	m.placeSmoke(w, g)
	switch {
	case len(why) > 0:
		w.pp.Hold = strings.Join(why, "; ")
		w.stopStarting(HeldKind, Detail{Text: w.pp.Hold})
	case len(g.Run) == 0 && len(g.Waiting) == 0 && len(g.Passed) > 0 && !g.When.IsZero():
		g.Text = "smoke skipped: same config passed on " + g.When.Format("2006-01-02") + printed(g)
	default:
		m.smokeBlocked(w, g)
	}
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

// smokesAhead is the gate of a phase that was handed over whole, while it waits
// for its smokes in the queue. They count under the fingerprint they have.
func (m *maker) smokesAhead(w *work) {
	queued := slices.Contains(w.pp.Kind, Continue)
	g := &Gate{Prints: make([]Hash, len(w.p.Smoke.Cells))}
	for k, cell := range w.p.Smoke.Cells {
		job := m.smokes[state.SmokeAddress(w.p.Address(cell))]
		if job == nil {
			continue
		}
		g.Prints[k], _ = result.ParseHash(job.Result)
		if _, ok := m.override(w, cell, job.Result); ok {
			return
		}
		switch v, judged := m.validation(job.Result); {
		case job.Status.Active():
			g.Waiting = append(g.Waiting, cell)
		case judged && v.Passed:
			g.Passed = append(g.Passed, cell)
		case judged && queued && !v.Undecided():
			g.Failed = append(g.Failed, cell)
		}
	}
	if len(g.Waiting)+len(g.Failed) > 0 {
		w.pp.Smoke = g
	}
}

// starting reports whether anything of the phase starts now or once what it
// waits for is free.
func (w *work) starting() bool {
	for _, k := range w.pp.Kind {
		if k.Starts() || k == Blocked {
			return true
		}
	}
	return false
}

// stopStarting stops every cell that would start.
func (w *work) stopStarting(kind Kind, d Detail) {
	for i, k := range w.pp.Kind {
		if k.Starts() && k != Resubmit {
			w.stop(i, kind, d)
		}
	}
}

// verdict sorts one smoke cell into its gate; hold says why it holds the phase.
// A smoke that passed stands for its config: -rerun repeats one that failed only.
func (m *maker) verdict(w *work, g *Gate, k, cell int) (hold string) {
	print := g.Prints[k].String()
	if o, ok := m.override(w, cell, print); ok {
		g.Passed = append(g.Passed, cell)
		g.Override = fmt.Sprintf("gate passed on the word of %s: %s", o.Who, o.Reason)
		return ""
	}
	again := w.is(w.rerun, cell)
	v, ok := m.validation(print)
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
	job := m.smokes[state.SmokeAddress(w.p.Address(cell))]
	if job == nil || job.Result != print || again && !job.Status.Active() {
		g.Run = append(g.Run, cell)
		return ""
	}
	switch f := m.observe(job); {
	case f.Absent, v.Undecided() && !job.Status.Active():
		g.Run = append(g.Run, cell)
	case job.Status.Active():
		g.Waiting = append(g.Waiting, cell)
	case job.Status == state.Completed, job.Status == state.Cancelled && f.Class == offer.Blocked: // ended without a verdict
		g.Run = append(g.Run, cell)
	default:
		g.Failed = append(g.Failed, cell)
		return fmt.Sprintf("smoke of %s: %s", w.p.Address(cell), f.Head())
	}
	return ""
}

// validation is a smoke's verdict by fingerprint, the latest if there are several.
func (m *maker) validation(print string) (state.Validation, bool) {
	if m.verdicts == nil {
		m.verdicts = map[string]state.Validation{}
		for _, v := range m.st.Validations {
			if old, ok := m.verdicts[v.Fingerprint]; !ok || v.At.After(old.At) {
				m.verdicts[v.Fingerprint] = v
			}
		}
	}
	v, ok := m.verdicts[print]
	return v, ok
}

// override finds a person's word for a phase's gate or one cell of it.
func (m *maker) override(w *work, cell int, print string) (state.Override, bool) {
	for at := len(m.st.Overrides) - 1; at >= 0; at-- {
		o := m.st.Overrides[at]
		if o.Fingerprint != "" && o.Fingerprint != print {
			continue
		}
		switch o.Address {
		case "phase." + w.p.Name, w.p.Address(cell), state.SmokeAddress(w.p.Address(cell)):
			return o, true
		}
	}
	return state.Override{}, false
}

// class is the environment class a cell's run will see.
func (m *maker) class(w *work, cell int) string {
	d := w.decisionFor(cell)
	if family := m.family(d); family != "" {
		return d.Backend + "/" + family
	}
	return d.Backend
}

// decisionFor is where a cell goes, or would: a cell that does not start goes
// where the first of its phase that does goes.
func (w *work) decisionFor(cell int) place.Decision {
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

// family is the GPU family of a decision's pool, "" for CPU work.
func (m *maker) family(d place.Decision) string {
	if d.Shape.GPUs == 0 {
		return ""
	}
	for _, p := range m.in.Pools {
		if p.Backend == d.Backend && p.Name == d.Pool {
			return p.Family(m.in.Pools)
		}
	}
	return ""
}

// placeSmoke puts the smokes on the cheapest pool of the phase's environment
// class; a smoke with a place of its own goes there.
func (m *maker) placeSmoke(w *work, g *Gate) {
	if len(g.Run) > 0 {
		g.Place = m.smokeDecision(w, g.Run[0], len(g.Run), &m.diags)
	} else if len(g.Passed) > 0 { // its pass may be taken away while the plan is applied
		g.Place = m.smokeDecision(w, g.Passed[0], 1, &diag.List{})
	}
}

func (m *maker) smokeDecision(w *work, cell, n int, diags *diag.List) place.Decision {
	r := w.p.Requests(lang.SmokeRun)[w.p.RequestOf(cell, lang.SmokeRun)]
	run := w.decisionFor(cell)
	group := m.placeGroup(w, r, n)
	group.Smoke, group.Shape.Smoke, group.Checkpoint = true, true, false
	group.Class = m.family(run)
	if len(w.p.Smoke.Candidates) > 0 {
		group.Candidates = w.p.Smoke.Candidates
	} else {
		group.Within = run.Backend
	}
	decisions, found := place.Decide(m.placeInput([]place.Group{group}))
	if run.Backend != "" { // else the phase itself fits nowhere, which is said already
		diags.Append(found...)
	}
	return decisions[0]
}

// smokeBlocked blocks the phase when a smoke that must run waits for
// something held.
func (m *maker) smokeBlocked(w *work, g *Gate) {
	for _, cell := range g.Run {
		if w.pp.Kind[cell] == Blocked || m.blockedBy(w, cell) != nil {
			w.stopStarting(Blocked, Detail{Waits: []string{state.SmokeAddress(w.p.Address(cell))}})
			g.Run = nil
			return
		}
	}
}

// pilot lists the cells that run alone first. A pilot that is held keeps the
// rest of its phase from starting, unless a person overrides it.
func (m *maker) pilot(w *work) {
	if w.pp.Hold != "" {
		return
	}
	for _, cell := range w.p.Pilot {
		switch k := w.pp.Kind[cell]; {
		case k.Starts():
			w.pp.Pilot = append(w.pp.Pilot, cell)
		case k == HeldKind || k == Blocked:
			if _, ok := m.override(w, cell, w.pp.Result[cell].String()); ok {
				continue
			}
			w.stopStarting(Blocked, Detail{Waits: []string{w.p.Address(cell)}})
			w.pp.Pilot = nil
			return
		}
	}
}
