package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// Records are those that no cell has.
type records struct {
	loose   []*state.Job          // of jobs that are not wanted, by address
	smokes  map[string]*state.Job // by address
	schemes map[int]bool          // of results, other than the current one
}

// recordsOf lays the state's records beside the cells, as `moved` blocks say. It is
// linear in the records: jobs never attempted cost nothing here.
func recordsOf(fs *facts, ps phases) (records, diag.List) {
	out := records{smokes: map[string]*state.Job{}, schemes: map[int]bool{}}
	for address, job := range fs.st.All() {
		if s := scheme(job); s != Scheme && job.Result != "" {
			out.schemes[s] = true
		}
		if job.Smoke {
			out.smokes[address] = job
			continue
		}
		w, i, ok := ps.cellOf(job.Address)
		switch {
		case !ok:
			out.loose = append(out.loose, job)
		case job.Status == state.Forgotten:
			if w.forgotten == nil {
				w.forgotten = map[int]*state.Job{}
			}
			w.forgotten[i] = job
		default:
			w.put(i, job)
		}
	}
	has := func(address string) bool { _, _, ok := ps.cellOf(address); return ok }
	for from, to := range history.MovedOf(fs.in.Campaign.Moved).Smokes(out.smokes, has) {
		out.smokes[to] = out.smokes[from]
		delete(out.smokes, from)
	}
	slices.SortFunc(out.loose, func(a, b *state.Job) int { return strings.Compare(a.Address, b.Address) })
	var diags diag.List
	out.loose, diags = moveByBlocks(fs.in.Campaign.Moved, ps, out.loose)
	return out, diags
}

func (w *draft) put(i int, job *state.Job) {
	if w.rec == nil {
		w.rec = make([]*state.Job, len(w.pp.Kind))
		w.pp.Records = w.rec
	}
	w.rec[i] = job
}

// moveByBlocks gives records of jobs that are not wanted the address that
// `moved` blocks name, and returns the others. Chains are followed; a taken
// address is left alone.
func moveByBlocks(blocks []lang.Moved, ps phases, loose []*state.Job) (rest []*state.Job, diags diag.List) {
	if len(blocks) == 0 {
		return loose, nil
	}
	to := history.MovedOf(blocks)
	for _, job := range loose {
		target, mv := to.Follow(job.Address)
		w, i, ok := ps.cellOf(target)
		switch {
		case target == job.Address || !ok || job.Status == state.Forgotten:
			rest = append(rest, job)
		case w.record(i) != nil:
			rest = append(rest, job)
			diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "The new address of a moved job is taken", Subject: mv.Range.Ptr(), Address: job.Address,
				Detail: fmt.Sprintf("%s has a record of its own, so %s is not moved there. Remove the moved block, or `muster state rm` one of the two.", target, job.Address)})
		default:
			w.put(i, job)
			w.moved(i, job.Address)
		}
	}
	return rest, diags
}

func (w *draft) moved(i int, from string) {
	if w.from == nil {
		w.from = map[int]string{}
	}
	w.from[i] = from
}

// inferMoves finds finished and running work under its new address by result
// hash, where the hash is unique on both sides, and returns the records that stay
// without a cell. A record may move if its files, its running attempt or its
// attempts can be had under another address.
func inferMoves(fs *facts, ps phases, hs *hashes, loose []*state.Job) []*state.Job {
	found := history.Matches{}
	for _, job := range loose {
		found.Offer(scheme(job), job, movable(fs, job))
	}
	for _, w := range ps.drafts {
		for _, job := range w.forgotten {
			found.Offer(scheme(job), job, movable(fs, job))
		}
	}
	if len(found) == 0 {
		return loose
	}
	hs.eachUnrecorded(ps, func(_ *draft, _, scheme int, h Hash) { found.Want(scheme, h) })
	gone := map[*state.Job]bool{}
	hs.eachUnrecorded(ps, func(w *draft, i, scheme int, h Hash) {
		if job := found.For(scheme, h); job != nil && readsSame(fs.st, w.p, job) {
			w.put(i, job)
			w.moved(i, job.Address)
			gone[job] = true
		}
	})
	return slices.DeleteFunc(loose, func(job *state.Job) bool { return gone[job] })
}

func movable(fs *facts, job *state.Job) bool {
	switch f := fs.observe(job); f.Status {
	case state.Completed:
		return len(fs.in.Observed.Broken(f)) == 0
	case state.Forgotten:
		return job.Class == "" && len(job.Outputs) > 0 && len(fs.in.Observed.Broken(f)) == 0
	case state.Submitting:
		return f.Found
	}
	return true
}

// eachUnrecorded visits the hashes of cells without a record.
func (hs *hashes) eachUnrecorded(ps phases, do func(w *draft, i, scheme int, h Hash)) {
	for _, w := range ps.drafts {
		for scheme := range hs.schemesInUse() {
			for i, h := range w.column(scheme) {
				if w.record(i) == nil {
					do(w, i, scheme, h)
				}
			}
		}
	}
}
