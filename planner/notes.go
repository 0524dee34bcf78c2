package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/remarks"
)

// note gathers what the plan says beside its rows and figures.
func (m *maker) note() {
	say := func(notes ...string) { m.plan.Notes = append(m.plan.Notes, notes...) }
	untracked := false
	for _, w := range m.works {
		untracked = untracked || w.p.Source == nil
		if s := w.pp.Source; s.Dirty && w.starting() {
			say(fmt.Sprintf("phase.%s: code of commit %s with changes that are not committed.", w.p.Name, change.Short(s.Commit)))
		}
	}
	if untracked && m.in.Campaign.Source == nil && len(m.works) > 0 && !m.in.Options.Destroy {
		say("code: untracked, so a change of the programs re-runs nothing (add a source block)")
	}
	say(remarks.Undigested(m.in.Observed.Undigested)...)
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			m.noteWait(&d)
			m.noteTurn(w, &d)
		}
	}
	used, runs := m.backendsInUse(), m.anythingRuns()
	for _, s := range m.spills {
		say(s.Note())
	}
	say(remarks.Elsewhere(m.queues().Phases)...)
	m.noteMissing()
	dated := remarks.Dated(m.in.Pools, m.in.Campaign.Backends)
	if runs {
		due := remarks.Clocks(dated, m.usedPools(), m.in.Now, m.plan.Forecast.Walltime.P90, m.st.Jobs)
		say(due...)
		m.plan.Dangers = due
	}
	rented, due := remarks.Rented(remarks.ByHand(m.st.Rentals, m.in.Campaign.Backends), m.in.Observed.Orphans, dated, m.in.Now)
	say(rented...)
	if left := remarks.NotOurs(m.in.Campaign.Backends); left != "" && m.in.Options.Destroy {
		say(left)
	}
	m.plan.Dangers = dedupe(append(m.plan.Dangers, due...))
	say(remarks.Machines(m.withoutHistory())...)
	if runs {
		say(remarks.Uncounted(m.startingWorks(), m.in.Pools, m.in.Campaign.Backends)...)
	}
	say(remarks.Exchange(m.in.Campaign.Backends, used)...)
	if runs {
		if off := (remarks.Off{Works: m.startingWorks(), Can: m.in.Can, Pools: m.in.Pools, Backends: m.in.Campaign.Backends, MaxParallel: m.in.Campaign.MaxParallel, Budgets: m.plan.Budgets}).Sentence(); off != "" {
			say(off)
		}
		say(remarks.Unheld(m.in.Campaign.Budgets, m.plan.Forecast.ByBackend, m.in.Can)...)
		say(remarks.Risen(m.rises(), m.risenPools())...)
		say(remarks.Held(m.short())...)
		say(remarks.NoCeiling(m.in.Campaign.Backends, used, m.in.Can)...)
	}
	m.plan.Notes = dedupe(m.plan.Notes)
}

// short counts the queued jobs that a limit holds.
func (m *maker) short() (n int) {
	for _, w := range m.works {
		for i, k := range w.pp.Kind {
			if r := w.record(i); k == Continue && r != nil && r.Short != "" {
				n++
			}
		}
	}
	return n
}

// risenPools are the pools that jobs go to, or are queued at.
func (m *maker) risenPools() [][2]string {
	out := m.usedPools()
	for _, w := range m.works {
		for i, k := range w.pp.Kind {
			if r := w.record(i); k == Continue && r != nil && r.Last() != nil && r.Last().Started.IsZero() {
				if at := [2]string{r.Last().Backend, r.Last().Pool}; !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// usedPools are the pools that the plan's work goes to, in order, each once.
func (m *maker) usedPools() [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	for _, w := range m.works {
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

// withoutHistory are the runs that start of phases of which none has ended.
func (m *maker) withoutHistory() (out []remarks.Run) {
	for _, w := range m.works {
		if !w.starting() || m.evidence(w).Launches > 0 {
			continue
		}
		r := w.p.Retry
		again := r.Launches() > 1 && r.Covers("node_failure")
		for at, n := range w.groupJobs() {
			if d := w.pp.Placements[at]; n > 0 && d.Backend != "" {
				out = append(out, remarks.Run{Phase: w.p.Name, Jobs: n, Machines: max(d.Shape.Nodes, 1), Each: m.evidence(w).OnPool(d).Expected, Again: again})
			}
		}
	}
	return out
}

// startingWorks are the phases of which something starts.
func (m *maker) startingWorks() (out []remarks.Work) {
	for _, w := range m.works {
		if !w.starting() {
			continue
		}
		o := remarks.Work{Phase: w.p, Placements: w.pp.Placements, Place: w.pp.Place, Starts: func(c int) bool { return w.pp.Kind[c].Starts() }, Starting: map[int]int{}, Unplaced: w.unplaced() > 0, Moves: map[string]bool{}}
		for i, at := range w.pp.Place {
			if w.pp.Kind[i].Starts() {
				o.Starting[int(at)]++
			}
		}
		if g := w.pp.Smoke; g != nil {
			o.Smokes, o.SmokesAt = len(g.Launches()), g.Place
		}
		for _, t := range m.plan.Transfers {
			if t.Phase == w.p.Name {
				o.Moves[t.Input] = true
			}
		}
		out = append(out, o)
	}
	return out
}

// unplaced counts the jobs that would start and have nowhere to.
func (w *work) unplaced() (n int) {
	for i, at := range w.pp.Place {
		if w.pp.Kind[i].Starts() && (at == 0 || w.pp.Placements[at].Backend == "") {
			n++
		}
	}
	return n
}

// namedMissing is how many jobs a note names one by one.
const namedMissing = 3

// noteMissing names the way out where outputs are gone that nothing needs now.
func (m *maker) noteMissing() {
	n, flags := 0, ""
	for _, w := range m.works {
		for i, k := range w.pp.Kind {
			if k != Missing {
				continue
			}
			if n++; n <= namedMissing {
				flags += fmt.Sprintf(" -rerun='%s'", w.p.Address(i))
			}
		}
	}
	if n == 0 {
		return
	}
	each := ""
	if n > namedMissing {
		each = fmt.Sprintf(" and so for %d more, which -verbose names", n-namedMissing)
	}
	m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("Outputs of %s are missing, and no job of this plan needs them: left so, nothing happens until one does, and that plan makes them again. "+
		"To have them now, put the files back, or `muster apply%s`%s.", amount.Jobs(n), flags, each))
}

func dedupe(in []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(in, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}
