package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/result"
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
	phase, key, ok := split(job.Address)
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

// split takes an address apart. The common case allocates nothing.
func split(address string) (phase, key string, ok bool) {
	rest, ok := strings.CutPrefix(address, "phase.")
	if !ok {
		return "", "", false
	}
	at := strings.IndexByte(rest, '[')
	if at < 0 {
		return rest, "", true
	}
	if strings.IndexByte(rest, '\\') < 0 && strings.HasSuffix(rest, `"]`) && len(rest) >= at+4 {
		return rest[:at], rest[at+2 : len(rest)-2], true
	}
	job, err := addr.Parse(address)
	return job.Phase, job.Key, err == nil
}

// movedBlocks gives records of jobs that are not wanted the address that
// `moved` blocks name. Chains are followed; a taken address is left alone.
func (m *maker) movedBlocks() {
	if len(m.in.Campaign.Moved) == 0 {
		return
	}
	to := map[string]lang.Moved{}
	for _, mv := range m.in.Campaign.Moved {
		to[mv.From] = mv
	}
	var rest []*state.Job
	for _, job := range m.loose {
		target, mv := follow(to, job.Address)
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

// follow applies moved blocks until none fits; a cycle ends where it began.
func follow(to map[string]lang.Moved, address string) (string, lang.Moved) {
	var used lang.Moved
	for range len(to) + 1 {
		if mv, ok := to[address]; ok {
			address, used = mv.To, mv
			continue
		}
		phase, _, ok := split(address)
		mv, has := to["phase."+phase]
		if !ok || !has {
			return address, used
		}
		address, used = mv.To+strings.TrimPrefix(address, "phase."+phase), mv
	}
	return address, used
}

// A candidate is a record that may have been a job under another address.
type candidate struct {
	job   *state.Job
	loose int // index into maker.loose, or -1
	times int // records with this hash
	cells int // wanted cells with this hash and no record
}

type schemed struct {
	scheme int
	hash   Hash
}

// inferMoves finds finished and running work under its new address by result
// hash, where the hash is unique on both sides.
func (m *maker) inferMoves() {
	found := map[schemed]*candidate{}
	for at, job := range m.loose {
		m.offerMove(found, job, at)
	}
	for _, w := range m.works {
		for _, job := range w.forgotten {
			m.offerMove(found, job, -1)
		}
	}
	if len(found) == 0 {
		return
	}
	m.eachUnrecorded(found, func(_ *work, _ int, c *candidate) { c.cells++ })
	gone := map[int]bool{}
	m.eachUnrecorded(found, func(w *work, i int, c *candidate) {
		if c.times == 1 && c.cells == 1 {
			w.put(i, c.job)
			w.moved(i, c.job.Address)
			gone[c.loose] = true
		}
	})
	var rest []*state.Job
	for at, job := range m.loose {
		if !gone[at] {
			rest = append(rest, job)
		}
	}
	m.loose = rest
}

// offerMove counts a record among those that may move, if its files, its
// running attempt or its attempts can be had under another address.
func (m *maker) offerMove(found map[schemed]*candidate, job *state.Job, at int) {
	h, ok := result.ParseHash(job.Result)
	if !ok {
		return
	}
	f := m.observe(job)
	k := schemed{scheme(job), h}
	if c := found[k]; c != nil {
		c.times++
		return
	}
	times := 1
	if !m.movable(f) {
		times = 2 // seen, and never moved
	}
	found[k] = &candidate{job: job, loose: at, times: times}
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

func (m *maker) eachUnrecorded(found map[schemed]*candidate, do func(*work, int, *candidate)) {
	for _, w := range m.works {
		for scheme := range m.schemesInUse() {
			for i, h := range w.column(scheme) {
				if w.record(i) != nil {
					continue
				}
				if c := found[schemed{scheme, h}]; c != nil {
					do(w, i, c)
				}
			}
		}
	}
}
