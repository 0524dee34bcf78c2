package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/foreign"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// foreign notes, on each job that starts, the files at its output paths that are
// not its own: to replace them needs approval.
func (m *maker) foreign() {
	var found []inTheWay
	for _, spot := range slices.Sorted(maps.Keys(m.in.Observed.Ground)) {
		ground := m.in.Observed.Ground[spot]
		for _, address := range slices.Sorted(maps.Keys(ground.There)) {
			w, i, ok := m.cellOf(&state.Job{Address: address})
			if !ok || !startsOn(w, i, spot) {
				continue
			}
			if files := m.foreignFiles(w, i, ground); len(files) > 0 {
				found = append(found, inTheWay{w: w, cell: i, files: files, ground: ground})
			}
		}
	}
	if len(found) == 0 {
		return
	}
	makers := m.makers(found)
	for k := range found {
		found[k].files = slices.DeleteFunc(found[k].files, func(o offer.Output) bool { return makers[o.Path] != nil && sharedOutput(found[k].w.p, o.Name) })
	}
	if found = slices.DeleteFunc(found, func(f inTheWay) bool { return len(f.files) == 0 }); len(found) == 0 {
		return
	}
	for k := range found {
		f := &found[k]
		d := f.w.pp.Details[f.cell]
		d.Foreign, d.Destroy, d.Whose = f.files, true, makers.whose(f)
		f.w.pp.Details[f.cell] = d
	}
	m.tellForeign(found, makers)
}

// inTheWay is files at the output paths of a job that starts.
type inTheWay struct {
	w      *work
	cell   int
	files  []offer.Output
	ground observed.Ground
}

// startsOn reports whether a job's next launch is the first of a token, and goes
// to a spot.
func startsOn(w *work, i int, spot string) bool {
	switch w.pp.Kind[i] {
	case Run, Rerun, Retry, Resubmit:
	case Restore:
		job := &w.restored[i].Job
		backend := job.Outputs[0].Backend
		at := job.Last()
		return spot == backend || at != nil && spot == backend+"/"+at.Pool
	default:
		return false
	}
	d := w.pp.Decision(i)
	return spot == d.Backend || spot == d.Backend+"/"+d.Pool
}

func (m *maker) foreignFiles(w *work, i int, ground observed.Ground) []offer.Output {
	address := w.p.Address(i)
	g := foreign.Guard(w.record(i), m.st.Earlier[address], ground.Workdir)
	if w.pp.Kind[i] == Restore { // its own result may be in place
		for k := range w.restored[i].Job.Outputs {
			o := &w.restored[i].Job.Outputs[k]
			g.Own = append(g.Own, offer.Output{Path: o.Path, Size: o.Size, MTime: o.MTime, Inode: o.Inode, Files: o.Files})
		}
	}
	return foreign.Of(ground.There[address], g, func(output string) bool { return sharedOutput(w.p, output) })
}

// sharedOutput reports whether several jobs write an output, so that what one of
// them made is in no other's way.
func sharedOutput(p *lang.Phase, output string) bool {
	k := slices.IndexFunc(p.Outputs, func(o *lang.Output) bool { return o.Name == output })
	return k >= 0 && p.Outputs[k].Shared
}

// makers are the jobs that are recorded to have made files that are in the way,
// by path.
type makers map[string]*state.Job

func (m *maker) makers(found []inTheWay) makers {
	out := makers{}
	for _, f := range found {
		for _, o := range f.files {
			out[o.Path] = nil
		}
	}
	for _, job := range m.st.All() {
		for _, o := range job.Outputs {
			if had, asked := out[o.Path]; asked && had == nil && !job.Smoke {
				out[o.Path] = job
			}
		}
	}
	return out
}

// of is the job that made the first file of some that a job is recorded to have
// made.
func (all makers) of(f *inTheWay) *state.Job {
	for _, o := range f.files {
		if job := all[o.Path]; job != nil {
			return job
		}
	}
	return nil
}

// whose says who made files, as far as it is known.
func (all makers) whose(f *inTheWay) string {
	switch job := all.of(f); {
	case job != nil && job.Address == f.w.p.Address(f.cell):
		return "made by this job before it was forgotten"
	case job != nil:
		return "made by phase." + job.Phase + ", which is recorded to have them"
	case len(f.ground.Campaigns) > 0:
		return "not made by this job; " + strings.Join(f.ground.Campaigns, " and ") + wording(len(f.ground.Campaigns), " writes", " write") + " here, too"
	}
	return "not made by this job"
}

// shownForeign is how many files a warning names.
const shownForeign = 5

// tellForeign names the files, and the ways out.
func (m *maker) tellForeign(found []inTheWay, all makers) {
	var names, renamed []string
	n := 0
	for k := range found {
		f := &found[k]
		for _, o := range f.files {
			if n++; n <= shownForeign {
				names = append(names, fmt.Sprintf("%s (%s)", o.Path, f.w.p.Address(f.cell)))
			}
		}
		if job := all.of(f); job != nil && job.Phase != f.w.p.Name && m.byPhase[job.Phase] == nil {
			hint := fmt.Sprintf("moved {\n  from = phase.%s\n  to   = phase.%s\n}", job.Phase, f.w.p.Name)
			if !slices.Contains(renamed, hint) {
				renamed = append(renamed, hint)
			}
		}
	}
	if n > shownForeign {
		names = append(names, fmt.Sprintf("… and %d more", n-shownForeign))
	}
	text := fmt.Sprintf("%s at the output paths of jobs that start:\n  %s\n\nWith your yes they are moved aside to .muster/replaced before their jobs start. "+
		"Otherwise move them away.", units.Count(n, "file"), strings.Join(names, "\n  "))
	if len(renamed) > 0 {
		text += "\n\nIf the phase was renamed, this block keeps its results:\n\n" + strings.Join(renamed, "\n")
	}
	m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "files are there that their jobs did not make", Detail: text})
}

func wording(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
