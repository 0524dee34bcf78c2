package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// looseRows are the rows of records of jobs that are not wanted, of handles that did
// not claim their token, and of smokes of an old configuration.
func looseRows(fs *facts, ps phases, recs records) (rows []Row) {
	for _, job := range recs.loose {
		if fs.targeted(job) && job.Status != state.Forgotten {
			rows = append(rows, fs.looseRow(job)...)
		}
	}
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			if k == Duplicate {
				rows = append(rows, fs.cancelDuplicate(w.record(i)))
			}
		}
	}
	return append(rows, looseSmokes(fs, ps, recs.smokes)...)
}

func (fs *facts) looseRow(job *state.Job) []Row {
	f := fs.observe(job)
	r := Row{Kind: unwanted(f), Address: job.Address, Backend: backendOf(job), Detail: Detail{State: job}}
	if f.Status != f.Was {
		r.Detail.Reasons = append(r.Detail.Reasons, change.Of("status", string(f.Was), string(f.Status)))
	}
	switch r.Kind {
	case UnknownAt:
		r.Detail.Text = f.Unknown
	case Duplicate:
		return []Row{r, fs.cancelDuplicate(job)}
	case Adopt:
		r.Detail.Text = "no longer in the campaign; it can be cancelled once it is known"
	default:
		r.Detail.Text = "no longer in the campaign"
		if fs.in.Options.Destroy {
			r.Detail.Text = ""
		}
	}
	r.Detail.Destroy = r.Kind.Destroys()
	return []Row{r}
}

// unwanted is the table for a record whose job is not wanted.
func unwanted(f observed.Fact) Kind {
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
func (fs *facts) cancelDuplicate(job *state.Job) Row {
	return Row{Kind: Cancel, Address: job.Address, Backend: backendOf(job), Detail: Detail{State: job, Destroy: true, Text: "duplicate " + fs.observe(job).Duplicate}}
}

// looseSmokes cancels smokes of an old fingerprint. Smokes that ended stay as
// verdicts in the state and need no row.
func looseSmokes(fs *facts, ps phases, smokes map[string]*state.Job) (rows []Row) {
	current, waived := map[string]bool{}, map[string]bool{}
	for _, w := range ps.drafts {
		if w.p.Smoke == nil || fs.in.Options.Destroy {
			continue
		}
		for k, cell := range w.p.Smoke.Cells {
			address := state.SmokeAddress(w.p.Address(cell))
			if g := w.pp.Smoke; g != nil {
				current[address+g.Prints[k].String()] = true
			} else if job := smokes[address]; job != nil {
				_, waived[address] = fs.override(w, cell, job.Result)
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(smokes)) {
		job := smokes[address]
		if !job.Status.Active() || current[address+job.Result] {
			continue
		}
		f := fs.observe(job)
		r := Row{Kind: Cancel, Address: address, Backend: backendOf(job), Detail: Detail{State: job, Text: "smoke of an old configuration"}}
		if waived[address] {
			r.Detail.Text = "smoke of a gate that is overridden"
		}
		switch {
		case f.Unknown != "":
			r.Kind, r.Detail.Text = UnknownAt, f.Unknown
		case f.Absent || !f.Status.Active():
			continue
		}
		r.Detail.Destroy = r.Kind.Destroys()
		rows = append(rows, r)
	}
	return rows
}

// destroyAll treats every record as that of a job which left the campaign, but
// leaves ended jobs alone. It divides the loose records into those that still
// run and those that ended.
func destroyAll(fs *facts, ps phases, loose []*state.Job) (active, ended []*state.Job) {
	for _, w := range ps.drafts {
		for i := range w.pp.Kind {
			w.pp.Kind[i] = None
			job := w.record(i)
			if !w.chosen(i) {
				w.pp.Kind[i] = Skipped
				continue
			}
			if job == nil || !job.Status.Active() {
				continue
			}
			f := fs.observe(job)
			d := Detail{State: job}
			switch k := unwanted(f); {
			case f.Found:
				w.pp.Kind[i] = Cancel
			case k == Forget && f.Status != f.Was:
				if fs.unrecorded(job) {
					w.pp.Kind[i] = Record
				}
			case k != Forget:
				w.pp.Kind[i] = k
			}
			d.Text = f.Unknown
			d.Destroy = w.pp.Kind[i].Destroys()
			w.pp.Details[i] = d
		}
	}
	for _, job := range loose {
		if job.Status.Active() {
			active = append(active, job)
		} else {
			ended = append(ended, job)
		}
	}
	return active, ended
}

// unrecorded reports whether the state may not have the end of a job's last launch. Of a job
// that waits for muster to launch it again it has it.
func (fs *facts) unrecorded(job *state.Job) bool {
	o, told := fs.in.Observed.Observation(job)
	last := job.Last()
	return !told || job.Status != state.Waiting || last == nil || last.Ended.IsZero() || o.Attempt > last.N
}

// importJobs adopts jobs that import blocks name and the state does not know.
func importJobs(fs *facts, ps phases) (diags diag.List) {
	for _, im := range fs.in.Campaign.Imports {
		if im.Files() {
			continue // see adoptFiles
		}
		w, i, ok := ps.cellOf(im.To)
		if !ok {
			diags.Append(diag.Diagnostic{Summary: "An import names no job of the campaign", Subject: im.Range.Ptr(), Address: im.To,
				Detail: fmt.Sprintf("There is no %s. Write the address of a job that a phase declares.", im.To)})
			continue
		}
		if w.record(i) != nil {
			continue // adopted already
		}
		diags.Append(importJob(fs, w, i, im)...)
	}
	return diags
}

func importJob(fs *facts, w *draft, i int, im lang.Import) (diags diag.List) {
	o, asked := fs.in.Observed.Imported[im.To]
	d := Detail{Text: fmt.Sprintf("%s on %s", im.ID, im.Backend), Reasons: []Reason{change.Of("import", "", im.ID)}}
	switch {
	case asked && o.Presence == offer.Found:
		w.pp.Kind[i] = Adopt
	case asked && o.Presence == offer.Absent:
		diags.Append(diag.Diagnostic{Summary: "The job to import is not there", Subject: im.Range.Ptr(), Address: im.To,
			Detail: fmt.Sprintf("%s knows no job %s. Correct the id, or remove the import block to run the job again.", im.Backend, im.ID)})
		return diags
	default:
		w.pp.Kind[i] = UnknownAt
		d.Text += ": not asked yet"
		if why := fs.in.Observed.Away(im.Backend); why != "" {
			d.Text = im.Backend + " cannot be asked: " + why
		}
	}
	w.pp.Details[i] = d
	return nil
}

// rentals keeps needed machines, releases idle ones once their outputs are safe, and lists
// tagged ones that the state does not know. Used are the backends that the plan uses.
func rentals(fs *facts, used map[string]bool) (rows []Row, notes []string, diags diag.List) {
	for _, id := range slices.Sorted(maps.Keys(fs.st.Rentals)) {
		r := fs.st.Rentals[id]
		if !r.Rented() || used[r.Backend] {
			continue
		}
		row := Row{Kind: Cancel, Address: id, Backend: r.Backend, Release: true, PerHour: r.PerHour, Detail: Detail{Destroy: true, Text: "idle"}}
		if r.Status == state.RentalDeleting {
			row.Detail.Text = "its release was requested before; it is billed until it is gone"
		}
		if _, away := fs.in.Observed.Unreachable[r.Backend]; away && !fs.in.Observed.Unasked[r.Backend] {
			row.Kind, row.Release, row.Away, row.Detail = UnknownAt, false, true, Detail{Text: "rented on " + r.Backend + ", which cannot be asked: not released"}
			rows = append(rows, row)
			continue
		}
		if unsafe := unsafeOutputs(fs, r.Backend); unsafe > 0 {
			notes = append(notes, fmt.Sprintf("%s on %s is idle and kept: %s without a verified copy elsewhere; `muster pull` makes one. It costs %s.", id, r.Backend, units.Count(unsafe, "output"), amount.Hourly(r.PerHour)))
			continue
		}
		rows = append(rows, row)
	}
	notes = append(notes, resultless(fs, rows)...)
	if !fs.in.Options.Destroy {
		rows = append(rows, replacements(fs)...)
	}
	lost, diags := orphans(fs)
	return append(rows, lost...), notes, diags
}

// resultless names the jobs that ran on the backends of released machines and have no result:
// their files on a machine's disk end with it.
func resultless(fs *facts, rows []Row) (notes []string) {
	released, names := map[string]bool{}, map[string][]string{} // by backend
	for i := range rows {
		if rows[i].Release {
			released[rows[i].Backend] = true
		}
	}
	if len(released) == 0 {
		return nil
	}
	for _, address := range fs.st.Addresses() {
		job := fs.st.Jobs[address]
		at := job.Last()
		if job.Smoke || job.Status == state.Completed || job.Status.Active() || at == nil || !released[at.Backend] || at.Started.IsZero() {
			continue
		}
		names[at.Backend] = append(names[at.Backend], job.Address+" ("+strings.TrimSpace(string(job.Status)+" "+job.Class)+")")
	}
	for _, backend := range slices.Sorted(maps.Keys(names)) {
		list := names[backend]
		have := "have"
		if len(list) == 1 {
			have = "has"
		}
		notes = append(notes, fmt.Sprintf("%s that ran on %s %s no verified result: %s. Their files on the disk of a released machine are lost.", units.Count(len(list), "job"), backend, have, warnings.Some(list)))
	}
	return notes
}

// orphans lists machines that muster rented and that no state here knows. Those
// that a person named are given back; another clone of the campaign may use the others.
func orphans(fs *facts) (rows []Row, diags diag.List) {
	list, release := slices.Clone(fs.in.Observed.Orphans), fs.in.Options.Release
	slices.SortFunc(list, func(a, b orphan) int { return strings.Compare(a.Backend+a.ID, b.Backend+b.ID) })
	command := "muster apply"
	if fs.in.Options.Destroy {
		command = "muster destroy"
	}
	for _, o := range list {
		row := Row{Kind: UnknownAt, Address: o.ID, Backend: o.Backend, PerHour: o.PerHour, Orphan: true,
			Detail: Detail{Text: "orphan on " + o.Backend + ": muster rented it, and no state here knows it; if no other copy of the campaign uses it, `" + command + " -release=" + shell.Quote(o.ID) + "` ends it"}}
		if slices.Contains(release, o.ID) {
			row.Kind, row.Release, row.Detail = Cancel, true, Detail{Destroy: true, Text: "orphan on " + o.Backend + ": the files on its disk are lost"}
		}
		rows = append(rows, row)
	}
	for _, id := range release {
		if slices.ContainsFunc(list, func(o orphan) bool { return o.ID == id }) {
			continue
		}
		detail := "No orphan of this campaign has this id."
		if r, known := fs.st.Rentals[id]; known && r.Rented() {
			detail = "It is a machine of " + r.Backend + " that the state knows: muster releases it when no job needs it."
		} else if len(list) > 0 {
			detail += " There is " + list[0].ID + " on " + list[0].Backend + "; `muster plan` lists all."
		}
		for _, name := range slices.Sorted(maps.Keys(fs.in.Observed.Unreachable)) {
			detail += " " + name + " could not be asked."
		}
		diags.Append(diag.Diagnostic{Summary: "-release=" + id + " names no orphan", Detail: detail})
	}
	return rows, diags
}

func unsafeOutputs(fs *facts, backend string) int {
	if fs.keepsFiles(backend) {
		return 0
	}
	n := 0
	for _, job := range fs.st.All() {
		n += job.OnlyOn(backend)
	}
	return n
}
