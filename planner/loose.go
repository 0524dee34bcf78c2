package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// looseRows gives records of jobs that are not wanted their rows.
func (m *maker) looseRows() {
	for _, job := range m.loose {
		if m.targeted(job) {
			m.looseRow(job)
		}
	}
	for _, w := range m.works {
		for i, k := range w.pp.Kind {
			if k == Duplicate {
				m.cancelDuplicate(w.record(i))
			}
		}
	}
	m.looseSmokes()
}

func (m *maker) looseRow(job *state.Job) {
	if job.Status == state.Forgotten {
		return
	}
	f := m.observe(job)
	r := Row{Kind: m.unwanted(f), Address: job.Address, Detail: Detail{State: job}}
	if at := job.Last(); at != nil {
		r.Backend = at.Backend
	}
	if f.Status != f.Was {
		r.Detail.Reasons = append(r.Detail.Reasons, change.Of("status", string(f.Was), string(f.Status)))
	}
	switch r.Kind {
	case UnknownAt:
		r.Detail.Text = f.Unknown
	case Duplicate:
		m.plan.Loose = append(m.plan.Loose, r)
		m.cancelDuplicate(job)
		return
	case Adopt:
		r.Detail.Text = "no longer in the campaign; it can be cancelled once it is known"
	default:
		r.Detail.Text = "no longer in the campaign"
		if m.in.Options.Destroy {
			r.Detail.Text = ""
		}
	}
	r.Detail.Destroy = r.Kind.Destroys()
	m.plan.Loose = append(m.plan.Loose, r)
}

// unwanted is the table for a record whose job is not wanted.
func (m *maker) unwanted(f observed.Fact) Kind {
	switch {
	case f.Found && f.Duplicate == "":
		return Adopt
	case f.Absent:
		return Forget // it never was, and nobody wants it now
	case f.Unknown != "":
		return UnknownAt
	case f.Duplicate != "":
		return Duplicate
	case f.Status == state.Queued, f.Status == state.Running, f.Status == state.Verifying, f.Status == state.Waiting:
		return Cancel
	}
	return Forget
}

// cancelDuplicate is the row that ends the handle which did not claim.
func (m *maker) cancelDuplicate(job *state.Job) {
	f := m.observe(job)
	r := Row{Kind: Cancel, Address: job.Address, Detail: Detail{State: job, Destroy: true, Text: "duplicate " + f.Duplicate}}
	if at := job.Last(); at != nil {
		r.Backend = at.Backend
	}
	m.plan.Loose = append(m.plan.Loose, r)
}

// looseSmokes cancels smokes of an old fingerprint. What ended stays as a
// verdict in the state and needs no row.
func (m *maker) looseSmokes() {
	current := map[string]bool{}
	for _, w := range m.works {
		if g := w.pp.Smoke; g != nil && !m.in.Options.Destroy {
			for k, cell := range w.p.Smoke.Cells {
				current[state.SmokeAddress(w.p.Address(cell))+g.Prints[k].String()] = true
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(m.smokes)) {
		job := m.smokes[address]
		if !job.Status.Active() || current[address+job.Result] {
			continue
		}
		f := m.observe(job)
		r := Row{Kind: Cancel, Address: address, Detail: Detail{State: job, Text: "smoke of an old configuration"}}
		switch {
		case f.Unknown != "":
			r.Kind, r.Detail.Text = UnknownAt, f.Unknown
		case f.Absent || !f.Status.Active():
			continue
		}
		if at := job.Last(); at != nil {
			r.Backend = at.Backend
		}
		r.Detail.Destroy = r.Kind.Destroys()
		m.plan.Loose = append(m.plan.Loose, r)
	}
}

// destroyAll wants nothing: every record is treated as that of a job which
// left the campaign, but what ended is left alone.
func (m *maker) destroyAll() {
	for _, w := range m.works {
		m.plan.Counts.Total += len(w.pp.Kind)
		for i := range w.pp.Kind {
			w.pp.Kind[i] = None
			job := w.record(i)
			if w.chosen(i) {
				m.plan.Counts.Selected++
			} else {
				w.pp.Kind[i] = Skipped
				continue
			}
			if job == nil || !job.Status.Active() {
				continue
			}
			f := m.observe(job)
			d := Detail{State: job}
			switch k := m.unwanted(f); {
			case f.Found:
				w.pp.Kind[i] = Cancel
			case k == Forget && f.Status != f.Was:
				w.pp.Kind[i] = Record
			case k != Forget:
				w.pp.Kind[i] = k
			}
			d.Text = f.Unknown
			d.Destroy = w.pp.Kind[i].Destroys()
			w.pp.Details[i] = d
		}
	}
	m.loose = slices.DeleteFunc(m.loose, func(job *state.Job) bool {
		if !job.Status.Active() {
			m.ended = append(m.ended, job)
		}
		return !job.Status.Active()
	})
}

// importJobs adopts jobs that import blocks name and the state does not know.
func (m *maker) importJobs() {
	for _, im := range m.in.Campaign.Imports {
		w, i, ok := m.cellOf(&state.Job{Address: im.To})
		if !ok {
			m.diags.Append(diag.Diagnostic{Summary: "an import names no job of the campaign", Subject: im.Range.Ptr(), Address: im.To,
				Detail: fmt.Sprintf("There is no %s. Write the address of a job that a phase declares.", im.To)})
			continue
		}
		if w.record(i) != nil {
			continue // adopted already
		}
		m.importJob(w, i, im)
	}
}

func (m *maker) importJob(w *work, i int, im lang.Import) {
	o, asked := m.in.Observed.Imported[im.To]
	d := Detail{Text: fmt.Sprintf("%s on %s", im.ID, im.Backend), Reasons: []Reason{change.Of("import", "", im.ID)}}
	switch {
	case asked && o.Presence == offer.Found:
		w.pp.Kind[i] = Adopt
	case asked && o.Presence == offer.Absent:
		m.diags.Append(diag.Diagnostic{Summary: "the job to import is not there", Subject: im.Range.Ptr(), Address: im.To,
			Detail: fmt.Sprintf("%s knows no job %s. Correct the id, or remove the import block to run the job anew.", im.Backend, im.ID)})
		return
	default:
		w.pp.Kind[i] = UnknownAt
		d.Text += ": not asked yet"
		if why := m.in.Observed.Unreachable[im.Backend]; why != "" {
			d.Text = im.Backend + " cannot be asked: " + why
		}
	}
	w.pp.Details[i] = d
}

// rentals keeps what is needed, releases what is idle once its outputs are
// safe, and lists what is tagged ours and unknown.
func (m *maker) rentals() {
	used := m.backendsInUse()
	for _, id := range slices.Sorted(maps.Keys(m.st.Rentals)) {
		r := m.st.Rentals[id]
		if !r.Rented() || used[r.Backend] {
			continue
		}
		row := Row{Kind: Cancel, Address: id, Backend: r.Backend, Release: true, PerHour: r.PerHour, Detail: Detail{Destroy: true, Text: "idle"}}
		if r.Status == state.RentalDeleting {
			row.Detail.Text = "asked to be released before, and billed until it is gone"
		}
		if unsafe := m.unsafeOutputs(r.Backend); unsafe > 0 {
			m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("%s on %s is idle and kept: %s without a verified copy elsewhere; `muster pull` makes one. It costs $%s/h.", id, r.Backend, units.Count(unsafe, "output"), orElse(r.PerHour, "?")))
			continue
		}
		m.plan.Loose = append(m.plan.Loose, row)
	}
	orphans := slices.Clone(m.in.Observed.Orphans)
	slices.SortFunc(orphans, func(a, b Orphan) int { return strings.Compare(a.Backend+a.ID, b.Backend+b.ID) })
	for _, o := range orphans {
		m.plan.Loose = append(m.plan.Loose, Row{Kind: UnknownAt, Address: o.ID, Backend: o.Backend, PerHour: o.PerHour,
			Detail: Detail{Text: "orphan on " + o.Backend + ": tagged as this campaign's and unknown to its state"}})
	}
}

func (m *maker) backendsInUse() map[string]bool {
	used := map[string]bool{}
	for _, w := range m.works {
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
	for _, t := range m.plan.Transfers {
		used[t.From] = true
	}
	return used
}

func (m *maker) unsafeOutputs(backend string) int {
	n := 0
	for _, job := range m.st.All() {
		n += job.OnlyOn(backend)
	}
	return n
}
