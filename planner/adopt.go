package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An adoption is files that are there and become the result of a job.
type adoption struct {
	at      string // as providers.At names it
	workdir string
	outputs []offer.Output
}

// An adopter makes files that are there the results of jobs.
type adopter struct {
	*facts
	phases
	recorded map[string]string // the jobs that have files, by path
}

// adoptFiles adopts, for jobs that would run or that failed, the files that import
// blocks name.
func adoptFiles(fs *facts, ps phases) (notes []string) {
	var all []lang.Import
	for _, im := range fs.in.Campaign.Imports {
		if im.Files() {
			all = append(all, im)
		}
	}
	if len(all) == 0 || !fs.in.Observed.Refreshed {
		return nil
	}
	ad := adopter{fs, ps, recordedFiles(fs.st)}
	for k := range all {
		notes = append(notes, ad.adoptBy(&all[k])...)
	}
	return notes
}

// adoptBy adopts the jobs of one block, and notes when there are none.
func (ad *adopter) adoptBy(im *lang.Import) (notes []string) {
	adopted, done, refused := 0, 0, 0
	var same sameFiles
	var unasked []string
	for _, w := range ad.drafts {
		if im.To != "phase."+w.p.Name && !strings.HasPrefix(im.To, "phase."+w.p.Name+"[") {
			continue
		}
		if im.Backend == "" {
			unasked = ad.notLookedAt(w)
		}
		for i := range w.pp.Kind {
			if !im.Covers(w.p, i) {
				continue
			}
			if job := w.record(i); job != nil && job.Status == state.Completed {
				done++
			}
			if !ad.mayAdopt(w, i) {
				continue
			}
			if away := ad.in.Observed.Unreachable[im.Backend]; im.Backend != "" && away != "" {
				w.pp.Kind[i], w.pp.Details[i] = UnknownAt, Detail{State: w.record(i), Text: "files to adopt: " + im.Backend + " cannot be asked: " + away}
				refused++
				continue
			}
			found, why := ad.adoptable(w, i, im.Backend)
			switch {
			case found != nil:
				ad.adoptCell(w, i, found)
				same.add(w.p.Address(i), found.outputs)
				adopted++
			case why != "" && w.pp.Kind[i] == HeldKind:
				d := w.pp.Details[i]
				d.Text += "\nIts files are not adopted: " + why
				w.pp.Details[i] = d
				refused++
			case why != "":
				if w.unadopted == nil {
					w.unadopted = map[int]string{}
				}
				w.unadopted[i] = why
				refused++
			}
		}
	}
	return append(notes, importNotes(im, adopted+refused, done, unasked, same)...)
}

// importNotes says what an import found nothing for, and which of its files are copies.
func importNotes(im *lang.Import, found, done int, unasked []string, same sameFiles) (notes []string) {
	switch {
	case len(unasked) > 0:
		notes = append(notes, fmt.Sprintf("The import of %s looks for no files on %s, which cannot be asked.", im.To, strings.Join(unasked, ", ")))
	case found == 0:
		text := "There are no files to adopt at the output paths of " + im.To
		if done > 0 {
			text = fmt.Sprintf("The import of %s has nothing left to adopt: %s done", im.To, areDone(done))
		}
		notes = append(notes, text+". Its block can be taken out.")
	}
	if same.n > 0 {
		notes = append(notes, fmt.Sprintf("%s the same bytes in every output as another one: %s has those of %s. Look whether one is a copy, or of another seed.",
			units.Count(same.n, "job")+wording(same.n, " adopts", " adopt"), same.one, same.other))
	}
	return notes
}

// notLookedAt are the backends that cannot be asked for the files of a phase.
func (ad *adopter) notLookedAt(w *draft) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(ad.in.Observed.Unreachable)) {
		if len(w.p.Candidates) == 0 || w.rank(name) < len(w.p.Candidates) {
			names = append(names, "backend."+name)
		}
	}
	return names
}

// mayAdopt reports whether a job takes files for its result: it would run, or its last
// launch came to nothing and no hold keeps it.
func (ad *adopter) mayAdopt(w *draft, i int) bool {
	if w.is(w.rerun, i) {
		return false
	}
	switch w.pp.Kind[i] {
	case Run:
		return true
	case HeldKind, Retry:
		return ad.heldByPerson(w, i) == "" // an open breaker stops launches, and this is none
	}
	return false
}

// sameFiles finds jobs that adopt the same bytes.
type sameFiles struct {
	by         map[string]string // address by digests
	n          int
	one, other string // the first two
}

func (s *sameFiles) add(address string, outs []offer.Output) {
	var key strings.Builder
	for _, o := range outs {
		if o.Digest == "" || o.Size == 0 {
			return
		}
		key.WriteString(o.Digest)
	}
	other, seen := s.by[key.String()]
	if !seen {
		if s.by == nil {
			s.by = map[string]string{}
		}
		s.by[key.String()] = address
		return
	}
	if s.n++; s.n == 1 {
		s.one, s.other = address, other
	}
}

func areDone(n int) string {
	if n == 1 {
		return "its job is"
	}
	return fmt.Sprintf("%s of it are", units.Count(n, "job"))
}

// adoptable finds the files of a job on the first of its backends that has them
// whole, or says why those that are there are not adopted.
func (ad *adopter) adoptable(w *draft, i int, backend string) (found *adoption, why string) {
	address := w.p.Address(i)
	spots := slices.Collect(maps.Keys(ad.in.Observed.Ground))
	slices.SortFunc(spots, func(a, b string) int { return cmp.Or(cmp.Compare(w.rank(a), w.rank(b)), cmp.Compare(a, b)) })
	for _, spot := range spots {
		at := filesystemBackend(spot)
		ground := ad.in.Observed.Ground[spot]
		outs := ground.Verified[address]
		if backend != "" && at != backend || len(outs) == 0 {
			continue
		}
		text := ad.notAdoptable(w, i, ground, outs)
		if text == "" {
			return &adoption{spot, ground.Workdir, outs}, ""
		}
		why = orElse(why, text)
	}
	return nil, why
}

// filesystemBackend is the backend of a spot, BACKEND/POOL.
func filesystemBackend(spot string) string {
	backend, _, _ := strings.Cut(spot, "/")
	return backend
}

// rank is the place of a spot among the candidates of a phase.
func (w *draft) rank(spot string) int {
	backend := filesystemBackend(spot)
	if i := slices.IndexFunc(w.p.Candidates, func(c string) bool { return strings.TrimPrefix(c, "backend.") == backend }); i >= 0 {
		return i
	}
	return len(w.p.Candidates)
}

// notAdoptable says why the files of a job cannot be its result, "" if they can.
func (ad *adopter) notAdoptable(w *draft, i int, ground observed.Ground, outs []offer.Output) string {
	address := w.p.Address(i)
	for _, o := range outs {
		if by := ad.recorded[o.Path]; by != "" && by != address {
			return o.Path + " is recorded as made by " + by
		}
		if !o.OK {
			return fmt.Sprintf("output %s: %s", o.Name, o.Verdict)
		}
		if declared := declaredAs(w.p, o.Name); o.Size == 0 && o.Files == 0 && declared != nil && declared.Kind == lang.File && len(declared.Verify) == 0 {
			return o.Path + " is empty; an output with verify adopts it if it passes"
		}
	}
	if ad.madeAtExit0(w, i, outs) {
		return ""
	}
	g := OwnFiles(w.record(i), ad.st.Earlier[address], ground.Workdir)
	others := notOwn(ground.There[address], g, func(string) bool { return false })
	for _, o := range outs {
		if o.Exists() && !slices.ContainsFunc(others, func(f offer.Output) bool { return f.Path == o.Path }) {
			return o.Path + " was left by an attempt of this job that did not complete"
		}
	}
	return ""
}

// madeAtExit0 reports whether the last launch of a job, as the campaign defines it now,
// wrote these files and exited with 0: they are whole, and only a check or a metric of then
// did not accept them.
func (ad *adopter) madeAtExit0(w *draft, i int, outs []offer.Output) bool {
	job := w.record(i)
	if job == nil || len(job.Attempts) == 0 {
		return false
	}
	n := len(job.Attempts) - 1
	last, hashes := &job.Attempts[n], w.column(scheme(job))
	if last.Class != failure.BadOutput || last.Exit == nil || *last.Exit != 0 || i >= len(hashes) || hashes[i].String() != job.Result {
		return false
	}
	for _, a := range slices.Concat(ad.st.Earlier[job.Address], job.Attempts[:n]) {
		for _, left := range a.Left {
			left.Digest = ""
			if slices.ContainsFunc(outs, ownOutput(left).Unchanged) {
				return false
			}
		}
	}
	return true
}

func declaredAs(p *lang.Phase, name string) *lang.Output {
	if k := slices.IndexFunc(p.Outputs, func(o *lang.Output) bool { return o.Name == name }); k >= 0 {
		return p.Outputs[k]
	}
	return nil
}

// recordedFiles are the jobs that have files at paths, by path.
func recordedFiles(st *state.State) map[string]string {
	out := map[string]string{}
	for _, job := range st.All() {
		if job.Smoke {
			continue
		}
		for _, o := range job.Outputs {
			out[o.Path] = job.Address
		}
	}
	return out
}

// adoptCell makes an adoption the action of a job.
func (ad *adopter) adoptCell(w *draft, i int, a *adoption) {
	backend := filesystemBackend(a.at)
	d := Detail{State: w.record(i), At: a.at, Text: "on " + backend + ", not run by muster"}
	if d.Ran = ad.madeAtExit0(w, i, a.outputs); d.Ran {
		d.Text = "on " + backend + ", made by the job's last launch"
	}
	if others := ad.in.Observed.Ground[a.at].Campaigns; len(others) > 0 {
		d.Text += "; " + alsoWrites(others)
	}
	for _, o := range a.outputs {
		d.Seen = append(d.Seen, state.Output{Name: o.Name, Backend: backend, Path: o.Path, Workdir: a.workdir, Size: o.Size, Digest: o.Digest, MTime: o.MTime, Inode: o.Inode, CTime: o.CTime, Files: o.Files})
	}
	w.bring(i, &Restorable{Replaced: &state.Replaced{Job: state.Job{Address: w.p.Address(i), Outputs: d.Seen}}})
	w.pp.Kind[i], w.pp.Details[i] = AdoptFiles, d
}
