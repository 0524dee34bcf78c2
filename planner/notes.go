package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A note is a sentence of a plan beside its rows and figures.
type note struct {
	notes      []string
	dangers    []string // those of notes that tell when something is deleted, ended or billed
	unattended []string // phases that start nothing while muster is closed
}

// decided is the subject of notes, beside the phases.
type decided struct {
	used      map[string]bool // backends where something goes
	transfers []Transfer
	spills    []spillover
	forecast  forecast.Forecast
	budgets   []BudgetCheck
	queues    *history.Queues
}

// notes gathers the notes of a decided plan.
func notes(fs *facts, ps phases, d decided) (out note) {
	say := func(notes ...string) { out.notes = append(out.notes, notes...) }
	in, c := &fs.in, fs.in.Campaign
	say(noteCode(fs, ps)...)
	say(warnings.Undigested(in.Observed.Undigested)...)
	for _, w := range ps.drafts {
		for i := range w.pp.Placements {
			say(noteWait(&w.pp.Placements[i])...)
			say(noteTurn(d.queues, w, &w.pp.Placements[i])...)
		}
	}
	say(append(ps.noted(fs.st), notePrecedents(fs, ps)...)...)
	say(preempted(fs, ps)...)
	runs := ps.anythingRuns()
	for _, s := range d.spills {
		say(s.Note())
	}
	for _, w := range ps.drafts {
		say(noteCopies(fs, w)...)
		say(noteFromStart(fs.st, w)...)
	}
	say(warnings.Elsewhere(d.queues.Phases)...)
	say(noteMissing(ps)...)
	dated := warnings.Dated(in.Pools, c.Backends)
	if runs {
		out.dangers = warnings.Clocks(dated, ps.usedPools(), in.Now, d.forecast.Walltime.P90, fs.st.Jobs)
		say(out.dangers...)
	}
	out.dangers = dedupe(append(out.dangers, noteRented(fs, dated, say)...))
	say(warnings.Machines(ps.withoutHistory())...)
	unfinished := ps.unfinishedWorks(d.transfers, fs.st.Jobs)
	starting := ps.startingOf(unfinished)
	say(ps.removals()...)
	if runs {
		say(warnings.Uncounted(starting, in.Pools, c.Backends)...)
		say(warnings.Unused(starting, in.Pools)...)
		say(warnings.Turns(starting, in.Pools)...)
		say(warnings.Memory(starting)...)
	}
	say(warnings.Exchange(c.Backends, d.used)...)
	if runs {
		say(warnings.NoCeiling(c.Backends, ps.usedPools(), in.Pools, in.Can)...)
		off, waits := warnings.Off{Works: unfinished, Can: in.Can, Pools: in.Pools, Backends: c.Backends, MaxParallel: c.MaxParallel, Budgets: d.budgets}.Sentence()
		if out.unattended = waits; off != "" {
			say(off)
		}
		say(warnings.Unheld(c.Budgets, d.forecast.ByBackend, in.Can)...)
		say(warnings.Unguarded(starting, in.Can)...)
		say(warnings.Spot(starting, in.Pools)...)
		say(warnings.Risen(fs.rises(), ps.risenPools())...)
		say(warnings.Held(ps.short())...)
		say(warnings.Offers(ps.usedPools(), in.Pools, d.forecast.ByBackend)...)
		say(warnings.Idling(c.Backends, ps.usedPools(), in.Pools, in.Can)...)
	}
	say(unaskedRentals(fs, ps)...)
	return out
}

// noteRented says which machines are billed, and returns the dates on which platforms act on them.
func noteRented(fs *facts, dated []offer.Pool, say func(...string)) (due []string) {
	in, c := &fs.in, fs.in.Campaign
	rented, due := warnings.Rented(warnings.ByHand(fs.st.Rentals, c.Backends), in.Observed.Orphans, dated, in.Now)
	say(rented...)
	if left := warnings.NotOurs(c.Backends); left != "" && in.Options.Destroy {
		say(left)
	}
	return due
}

// noteCode names code that is not committed, or that nothing tracks.
func noteCode(fs *facts, ps phases) (notes []string) {
	var untracked []string
	for _, w := range ps.drafts {
		if w.p.Source == nil {
			untracked = append(untracked, "`"+w.p.Name+"`")
		}
		if s := w.pp.Source; s.Dirty && w.starting() {
			notes = append(notes, fmt.Sprintf("phase.%s: code of commit %s with changes that are not committed.", w.p.Name, change.Short(s.Commit)))
		}
	}
	switch {
	case len(untracked) == 0 || fs.in.Campaign.Source != nil || fs.in.Options.Destroy:
	case len(untracked) == len(ps.drafts):
		notes = append(notes, "code: untracked, so a change of the programs re-runs nothing (add a source block)")
	default:
		notes = append(notes, fmt.Sprintf("code of %s: untracked, so a change of its programs re-runs nothing (add a source block)", warnings.Some(untracked)))
	}
	return notes
}

// removals says what phases whose jobs run remove beside their results.
func (ps phases) removals() (notes []string) {
	for _, w := range ps.drafts {
		if first := slices.IndexFunc(w.pp.Kind, Kind.Starts); first >= 0 && len(lang.DiscardOf(w.p, first)) > 0 {
			notes = append(notes, fmt.Sprintf("phase.%s: when a job is done, its files in discard are removed, such as %s of %s.", w.p.Name, strings.Join(lang.DiscardOf(w.p, first), ", "), w.p.Address(first)))
		}
		c := w.p.Checkpoint
		if c == nil || c.Keep == 0 || !w.starting() {
			continue
		}
		when := "when the job is done"
		if len(c.Verify) > 0 || c.MinSize > 0 {
			when = "before each launch and " + when
		}
		stay := "the newest stays"
		if c.Keep > 1 {
			stay = fmt.Sprintf("the newest %d stay", c.Keep)
		}
		for _, best := range []struct{ what, metric string }{{"lowest", c.KeepLowest}, {"highest", c.KeepHighest}} {
			if best.metric != "" {
				stay += fmt.Sprintf(", and that with the %s %s in its name", best.what, best.metric)
			}
		}
		notes = append(notes, fmt.Sprintf("phase.%s: of each job's checkpoints %s; older ones that its launches wrote are removed %s (keep).", w.p.Name, stay, when))
	}
	return notes
}

// short counts the queued jobs that a limit holds.
func (ps phases) short() (n int) {
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			if r := w.record(i); k == Continue && r != nil && r.Short != "" {
				n++
			}
		}
	}
	return n
}

// risenPools are the pools that jobs go to, or are queued at.
func (ps phases) risenPools() [][2]string {
	out := ps.usedPools()
	for _, w := range ps.drafts {
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

// withoutHistory are the runs that start in phases without an ended run.
func (ps phases) withoutHistory() (out []warnings.Launches) {
	for _, w := range ps.drafts {
		if !w.starting() || w.past.measurements().Launches > 0 {
			continue
		}
		r := w.p.Retry
		again := r.Launches() > 1 && r.Covers("node_failure")
		for at, n := range w.groupJobs() {
			if d := w.pp.Placements[at]; n > 0 && d.Backend != "" {
				out = append(out, warnings.Launches{Phase: w.p.Name, Jobs: n, Machines: max(d.Shape.Nodes, 1), Each: w.past.measurements().OnPool(d).Expected, Again: again})
			}
		}
	}
	return out
}

// startingOf are the phases with jobs that start, or would but for a block.
func (ps phases) startingOf(works []warnings.Work) []warnings.Work {
	return slices.DeleteFunc(slices.Clone(works), func(w warnings.Work) bool { return !ps.byPhase[w.Name].starting() })
}

// unfinishedWorks are the phases with jobs that start or are in flight.
func (ps phases) unfinishedWorks(moving []Transfer, jobs map[string]*state.Job) (out []warnings.Work) {
	for _, w := range ps.drafts {
		flying := w.flying()
		if !w.starting() && len(flying) == 0 {
			continue
		}
		o := warnings.Work{Phase: w.p, InFlight: flying, Placements: w.pp.Placements, Place: w.pp.Place, Starts: func(c int) bool { return w.pp.Kind[c].Starts() }, Starting: map[int]int{}, Unplaced: w.unplaced() > 0, Moves: map[string]bool{}, Open: map[string]bool{}}
		for i, at := range w.pp.Place {
			if w.pp.Kind[i].Starts() {
				o.Starting[int(at)]++
			}
		}
		if g := w.pp.Smoke; g != nil {
			o.Smokes, o.SmokesAt = len(g.Run), g.Place
			for _, c := range g.Waiting {
				if at := jobs[state.SmokeAddress(w.p.Address(c))].Last(); at != nil {
					o.Smoking = append(o.Smoking, warnings.At{Backend: at.Backend, Pool: at.Pool})
				}
			}
		}
		for _, t := range moving {
			if t.Phase == w.p.Name {
				o.Moves[t.Input] = true
			}
		}
		for _, in := range w.p.Inputs {
			o.Open[in.Name] = in.Partial() && slices.ContainsFunc(ps.byPhase[in.From.Name].pp.Kind, func(k Kind) bool { return k.Starts() || k.InFlight() })
		}
		out = append(out, o)
	}
	return out
}

// flying is where the jobs are that a backend has already, by cell.
func (w *draft) flying() map[int]warnings.At {
	out := map[int]warnings.At{}
	for i, k := range w.pp.Kind {
		if at := w.record(i).Last(); at != nil && k.InFlight() {
			out[i] = warnings.At{Backend: at.Backend, Pool: at.Pool}
		}
	}
	return out
}

// namedMissing is how many jobs a note names one by one.
const namedMissing = 3

// noteMissing names the way out where outputs are gone that nothing needs now.
func noteMissing(ps phases) []string {
	n, flags := 0, ""
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			if k != Missing {
				continue
			}
			if n++; n <= namedMissing {
				flags += fmt.Sprintf(" -rerun=%s", shell.Enclose(w.p.Address(i)))
			}
		}
	}
	if n == 0 {
		return nil
	}
	each := ""
	if n > namedMissing {
		each = fmt.Sprintf(" and so for %d more, which -verbose names", n-namedMissing)
	}
	return []string{fmt.Sprintf("Outputs of %s are missing, and no job of this plan needs them: left so, nothing happens until one does, and that plan makes them again. "+
		"To have them now, put the files back, or `muster apply%s`%s.", amount.Jobs(n), flags, each)}
}

func dedupe(in []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(in, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}
