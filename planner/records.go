package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/moved"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/state"
)

// indexRecords lays the state's records beside the cells. It is linear in the
// records: jobs never attempted cost nothing here.
func (m *maker) indexRecords() {
	for address, job := range m.st.All() {
		if s := scheme(job); s != Scheme && job.Result != "" {
			m.seenSchemes[s] = true
		}
		if job.Smoke {
			m.smokes[address] = job
			continue
		}
		w, i, ok := m.cellOf(job)
		switch {
		case !ok:
			m.loose = append(m.loose, job)
		case job.Status == state.Forgotten:
			if w.forgotten == nil {
				w.forgotten = map[int]*state.Job{}
			}
			w.forgotten[i] = job
		default:
			w.put(i, job)
		}
	}
	slices.SortFunc(m.loose, func(a, b *state.Job) int { return strings.Compare(a.Address, b.Address) })
	m.movedBlocks()
}

func (w *work) put(i int, job *state.Job) {
	if w.rec == nil {
		w.rec = make([]*state.Job, len(w.pp.Kind))
		w.pp.Records = w.rec
	}
	w.rec[i] = job
}

// cellOf finds the cell of a record.
func (m *maker) cellOf(job *state.Job) (*work, int, bool) {
	phase, key, ok := addr.Split(job.Address)
	if !ok {
		return nil, 0, false
	}
	w := m.byPhase[phase]
	if w == nil {
		return nil, 0, false
	}
	i, ok := w.p.Index(key)
	return w, i, ok
}

// movedBlocks gives records of jobs that are not wanted the address that
// `moved` blocks name. Chains are followed; a taken address is left alone.
func (m *maker) movedBlocks() {
	if len(m.in.Campaign.Moved) == 0 {
		return
	}
	to := moved.Of(m.in.Campaign.Moved)
	var rest []*state.Job
	for _, job := range m.loose {
		target, mv := to.Follow(job.Address)
		w, i, ok := m.cellOf(&state.Job{Address: target})
		switch {
		case target == job.Address || !ok || job.Status == state.Forgotten:
			rest = append(rest, job)
		case w.record(i) != nil:
			rest = append(rest, job)
			m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "the new address of a moved job is taken", Subject: mv.Range.Ptr(), Address: job.Address,
				Detail: fmt.Sprintf("%s has a record of its own, so %s is not moved there. Remove the moved block, or `muster state rm` one of the two.", target, job.Address)})
		default:
			w.put(i, job)
			w.moved(i, job.Address)
		}
	}
	m.loose = rest
}

func (w *work) moved(i int, from string) {
	if w.from == nil {
		w.from = map[int]string{}
	}
	w.from[i] = from
}

// inferMoves finds finished and running work under its new address by result
// hash, where the hash is unique on both sides. It may move if its files, its
// running attempt or its attempts can be had under another address.
func (m *maker) inferMoves() {
	found := moved.Matches{}
	for _, job := range m.loose {
		found.Offer(scheme(job), job, m.movable(m.observe(job)))
	}
	for _, w := range m.works {
		for _, job := range w.forgotten {
			found.Offer(scheme(job), job, m.movable(m.observe(job)))
		}
	}
	if len(found) == 0 {
		return
	}
	m.eachUnrecorded(func(_ *work, _, scheme int, h Hash) { found.Want(scheme, h) })
	gone := map[*state.Job]bool{}
	m.eachUnrecorded(func(w *work, i, scheme int, h Hash) {
		if job := found.For(scheme, h); job != nil {
			w.put(i, job)
			w.moved(i, job.Address)
			gone[job] = true
		}
	})
	m.loose = slices.DeleteFunc(m.loose, func(job *state.Job) bool { return gone[job] })
}

func (m *maker) movable(f observed.Fact) bool {
	switch f.Status {
	case state.Completed:
		return len(m.in.Observed.Broken(f)) == 0
	case state.Forgotten:
		return f.Job.Class == "" && len(f.Job.Outputs) > 0 && len(m.in.Observed.Broken(f)) == 0
	case state.Submitting:
		return f.Found
	}
	return true
}

// eachUnrecorded visits the hashes of cells without a record.
func (m *maker) eachUnrecorded(do func(w *work, i, scheme int, h Hash)) {
	for _, w := range m.works {
		for scheme := range m.schemesInUse() {
			for i, h := range w.column(scheme) {
				if w.record(i) == nil {
					do(w, i, scheme, h)
				}
			}
		}
	}
}
