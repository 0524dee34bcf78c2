package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/planner/apply/staging"
	hashes "github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// A plan reads no large file. The hash of a job that reads one that was not digested
// yet, and of every job after it, is known only when the run has digested the file.
// Until then such a job is unsettled: it does not start, and one that is done is
// taken as done only when the file holds the bytes that were recorded. One that was
// made from other bytes stays as it is: no plan that somebody saw runs it again.

// A settling is how far the hash of a cell is known.
type settling uint8

const (
	settled settling = iota // as the plan has it
	unsettled
	settledLate // in this run
)

// A settler works out the hashes that the plan could not know, and what follows
// from them.
type settler struct {
	*jobs
	inputs   *inputs
	schedule *schedule
}

// digests are those that this run keeps, nil where it takes none: on a virtual
// clock no time passes while files are read.
func (is *inputs) digests() *digests.Book {
	if is.Play || clock.IsVirtual(is.Time) || !slices.ContainsFunc(is.Campaign.Phases, func(p *lang.Phase) bool { return len(p.Raw) > 0 }) {
		return nil
	}
	return digests.Open(is.Cache)
}

func (p *phase) unsettledAt(cell int32) bool {
	return p.unsettled != nil && p.unsettled[cell] == unsettled
}

// ownResults gives the run results of its own, to be settled while it runs: the
// plan's stay as they were approved, and other rehearsals read them.
func (se *settler) ownResults() {
	var plans []*planner.PhasePlan
	for _, p := range se.phases {
		own := *p.plan
		own.Result = slices.Clone(own.Result)
		p.plan, plans = &own, append(plans, &own)
	}
	se.hashes = planner.NewSettler(plans, se.left())
}

// load finds the cells whose hash is not known.
func (se *settler) load() {
	if se.Plan.Destroy || se.inputs.staging.Digests == nil && !slices.ContainsFunc(se.phases, (*phase).partial) {
		return
	}
	se.ownResults()
	for _, p := range se.phases {
		se.loadPartial(p)
		for _, st := range p.stores {
			if se.inputs.staging.Digests == nil {
				break
			}
			for c := range int32(len(p.At)) {
				if st.Lacks(c) {
					p.unsettle(c)
				}
			}
		}
		for _, ed := range p.inputs {
			seen := map[int32]bool{} // groups
			for m, u := range ed.from.unsettled {
				if g := ed.Group[m]; u == unsettled && g >= 0 && !seen[g] {
					seen[g] = true
					for _, c := range ed.Consumers(int(g)) {
						p.unsettle(c)
					}
				}
			}
		}
	}
}

func (p *phase) unsettle(cell int32) {
	if p.plan.Does(cell) == planner.Skipped {
		return
	}
	if p.unsettled == nil {
		p.unsettled = make([]settling, len(p.At))
	}
	p.unsettled[cell] = unsettled
}

// awaitsHash reports whether a cell reads an output of a job that has no hash yet. Running
// and completed jobs keep the hash that they started with.
func (p *phase) awaitsHash(cell int32) bool {
	for _, ed := range p.inputs {
		if ed.from.unsettled == nil {
			continue
		}
		for _, m := range ed.Members(ed.In.GroupOf(int(cell))) {
			if s := ed.from.At[m]; ed.from.unsettledAt(int32(m)) && !s.InFlight() && s != cells.Done {
				return true
			}
		}
	}
	return false
}

// check has the files digested that decide whether jobs stay done.
func (se *settler) check() {
	for _, p := range se.phases {
		for c := range p.unsettled {
			if p.At[c] == cells.Checking || p.plan.Does(int32(c)) == planner.AdoptFiles {
				se.known(p, int32(c))
			}
		}
		se.inputs.doubtful = se.inputs.doubtful || p.unsettled != nil
	}
}

// known reports whether the files that a cell reads are digested, and why one
// cannot be.
func (se *settler) known(p *phase, cell int32) (bool, error) {
	all := true
	for _, st := range p.stores {
		switch v, why := se.inputs.staging.Digested(st, cell); v {
		case staging.Never:
			return false, why
		case staging.Coming:
			all = false
		}
	}
	return all, nil
}

// settle takes jobs as done, or not, whose inputs have been digested.
func (se *settler) settle() {
	if !se.inputs.staging.NewDigests() && !se.inputs.doubtful {
		return
	}
	se.inputs.doubtful = false
	se.inputs.loadStores()
	for _, p := range se.phases {
		for c, u := range p.unsettled {
			if u == unsettled && p.At[c] == cells.Checking {
				se.settleDone(p, int32(c))
			}
		}
	}
}

func (se *settler) settleDone(p *phase, cell int32) {
	known, err := se.known(p, cell)
	switch {
	case errors.Is(err, staging.ErrChanged):
		p.unsettled[cell] = settledLate
		se.changedInput(p, cell, err.Error())
		return
	case err != nil: // results made from it stay
		se.Note(p.Address(int(cell)), p.Address(int(cell))+" stays done, though its input cannot be digested: "+err.Error(), true)
	case !known || p.awaitsHash(cell):
		return
	default:
		h := se.hashes.Result(p.plan, int(cell))
		if p.plan.Does(cell) == planner.Accept {
			se.Emit(state.Accepted{Address: p.Address(int(cell)), Result: h.String(), By: se.Who, At: se.Clock()})
		} else if why := se.madeFromOther(p, cell, h); why != "" {
			p.unsettled[cell] = settledLate
			p.plan.Result[cell] = h
			se.changedInput(p, cell, why)
			return
		}
	}
	p.unsettled[cell] = settledLate
	p.Set(cell, cells.Done)
	se.schedule.completed(p, cell)
}

func (se *settler) changedInput(p *phase, cell int32, why string) {
	p.Set(cell, cells.Changed)
	se.report.NoteHeld("phase."+p.Name, p.Address(int(cell)), why)
}

// madeFromOther says what a completed job was made from that is another thing now;
// "" where it is as recorded. H is its hash now.
func (se *settler) madeFromOther(p *phase, cell int32, h planner.Hash) string {
	rec := se.st.Jobs[p.Address(int(cell))]
	if rec == nil || rec.Result == "" || h.Is(rec.Result) || h.Is(rec.Accepted) {
		return ""
	}
	for _, in := range p.Raw {
		old, now := rec.InputBytes.Get(in.Name), p.plan.RawBytes(in.Name, int(cell))
		if old != now {
			return "input bytes changed: " + changedFiles(hashes.Listed(se.st.Definitions[old]), p.plan.RawFiles(in, int(cell))) + ". Run muster plan"
		}
	}
	var inputs map[string]string
	for _, ed := range p.inputs {
		for _, m := range ed.Members(ed.In.GroupOf(int(cell))) {
			switch {
			case ed.from.At[m] == cells.Changed:
			case ed.from.plan.Does(int32(m)).Starts():
				if inputs == nil {
					inputs = se.hashes.Inputs(p.plan, int(cell))
				}
				if inputs[ed.In.Name] == rec.Inputs.Get(ed.In.Name) {
					continue
				}
			default:
				continue
			}
			return fmt.Sprintf("phase.%s, which it reads, would run again. Run muster plan", ed.from.Name)
		}
	}
	return ""
}

// mostChanged is how many files are named.
const mostChanged = 3

// changedFiles names the files whose digests differ from those of a listing; nil is
// none, and so all are named.
func changedFiles(was map[string]string, files []hashes.File) string {
	var names []string
	for _, f := range files {
		if was[f.Path] != f.Digest {
			names = append(names, f.Path)
		}
		delete(was, f.Path)
	}
	for path := range was {
		names = append(names, path)
	}
	slices.Sort(names)
	if n := len(names) - mostChanged; n > 0 {
		names = append(names[:mostChanged], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// start works out the hash of a cell that is about to start, or of its
// smoke.
func (se *settler) start(p *phase, cell int32, smoke bool) verdict {
	if p.awaitsHash(cell) {
		return parked
	}
	p.plan.Result[cell] = se.hashes.Result(p.plan, int(cell))
	if _, gate := p.Gate.Prints[cell]; gate {
		p.Gate.Prints[cell] = se.hashes.Smoke(p.plan, int(cell), se.environment(p, cell)).String()
	}
	if smoke {
		return se.settleSmoke(p, cell)
	}
	p.unsettled[cell], se.inputs.doubtful = settledLate, true
	return started
}

// settleSmoke passes by a smoke of which it turns out that it was judged before.
func (se *settler) settleSmoke(p *phase, cell int32) verdict {
	print := p.Gate.Print(cell)
	v, known := se.st.Validations[print]
	switch {
	case waived(se.st, func() string { return print }, "phase."+p.Name, p.Address(int(cell))), known && v.Passed:
		p.Gate.Pass(cell)
		return refused
	case known && !v.Undecided():
		p.Gate.Mark(cell, cells.Failed)
		se.report.NoteHeld("phase."+p.Name, p.Address(int(cell)), "its smoke failed with these inputs before: "+v.Message)
		return refused
	}
	return started
}

// rest takes as done, at the end, the jobs that a run leaves unsettled because
// a job before them did not start.
func (se *settler) rest() {
	for _, p := range se.phases {
		for c, u := range p.unsettled {
			if u == unsettled && p.At[c] == cells.Checking && se.Context().Err() == nil && !se.inputs.staging.Transferring() {
				p.Set(int32(c), cells.Done)
			}
		}
	}
	if !se.Plan.Destroy {
		se.outdated()
	}
}

// inputHashes are, by input, the hashes of the producers on which a cell
// depends.
func (js *jobs) inputHashes(p *phase, cell int) map[string]string {
	if p.unsettled != nil && p.unsettled[cell] == settledLate {
		return js.hashes.Inputs(p.plan, cell)
	}
	return js.Plan.InputHashes(p.plan, cell)
}

// readable reports whether the files that a cell, or its smoke, reads are digested or
// can be. One of which a file cannot be does not start in this run; the next plan has
// it start again.
func (se *settler) readable(p *phase, cell int32, smoke bool) bool {
	_, err := se.known(p, cell)
	switch {
	case err == nil:
		return true
	case smoke:
		se.schedule.refuseCell(p, cell, true, err.Error())
	default:
		p.Set(cell, cells.Held)
		se.schedule.unchain(p, cell)
		se.report.NoteHeld("phase."+p.Name, p.Address(int(cell)), err.Error())
	}
	return false
}
