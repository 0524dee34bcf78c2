package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// foreign notes, on each job that starts, the files at its output paths that are
// not its own: to replace them needs approval. It returns a warning of them.
func foreignFiles(fs *facts, ps phases) diag.List {
	cl := clearing{fs, ps}
	found, makers := cl.find()
	if len(found) == 0 {
		return nil
	}
	for k := range found {
		f := &found[k]
		d := f.w.pp.Details[f.cell]
		d.Foreign, d.Destroy, d.Whose = f.files, true, makers.whose(f)
		if why := f.w.unadopted[f.cell]; why != "" {
			d.Whose += ", and not adopted: " + why
		}
		f.w.pp.Details[f.cell] = d
	}
	return diag.List{cl.warning(found, makers)}
}

// A clearing looks at the output paths of jobs that start.
type clearing struct {
	*facts
	phases
}

// find returns the files in the way, with who made them.
func (cl clearing) find() (found []inTheWay, all makers) {
	for _, spot := range slices.Sorted(maps.Keys(cl.in.Observed.Ground)) {
		ground := cl.in.Observed.Ground[spot]
		for _, address := range slices.Sorted(maps.Keys(ground.There)) {
			w, i, ok := cl.cellOf(address)
			if !ok || !startsOn(w, i, spot) {
				continue
			}
			if files := cl.of(w, i, ground); len(files) > 0 {
				found = append(found, inTheWay{w: w, cell: i, files: files, ground: ground})
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	all = makersOf(found, cl.st)
	for k := range found {
		found[k].files = slices.DeleteFunc(found[k].files, func(o offer.Output) bool { return all[o.Path] != nil && sharedOutput(found[k].w.p, o.Name) })
	}
	return slices.DeleteFunc(found, func(f inTheWay) bool { return len(f.files) == 0 }), all
}

// inTheWay is files at the output paths of a job that starts.
type inTheWay struct {
	w      *draft
	cell   int
	files  []offer.Output
	ground observed.Ground
}

// startsOn reports whether a job's next launch is the first of a token, and goes
// to a spot.
func startsOn(w *draft, i int, spot string) bool {
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

func (cl clearing) of(w *draft, i int, ground observed.Ground) []offer.Output {
	address := w.p.Address(i)
	g := OwnFiles(w.record(i), cl.st.Earlier[address], ground.Workdir)
	if w.pp.Kind[i] == Restore { // its own result may be in place
		for k := range w.restored[i].Job.Outputs {
			o := &w.restored[i].Job.Outputs[k]
			g.Own = append(g.Own, offer.Output{Path: o.Path, Size: o.Size, MTime: o.MTime, Inode: o.Inode, Files: o.Files})
		}
	}
	return notOwn(ground.There[address], g, func(output string) bool { return sharedOutput(w.p, output) })
}

// sharedOutput reports whether several jobs write an output, so that the file of one is in no
// other's way.
func sharedOutput(p *lang.Phase, output string) bool {
	k := slices.IndexFunc(p.Outputs, func(o *lang.Output) bool { return o.Name == output })
	return k >= 0 && p.Outputs[k].Shared
}

// makers are the jobs that are recorded to have made files that are in the way,
// by path.
type makers map[string]*state.Job

func makersOf(found []inTheWay, st *state.State) makers {
	out := makers{}
	for _, f := range found {
		for _, o := range f.files {
			out[o.Path] = nil
		}
	}
	for _, job := range st.All() {
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
		return "not made by this job; " + alsoWrites(f.ground.Campaigns)
	}
	return "not made by this job"
}

func alsoWrites(campaigns []string) string {
	return strings.Join(campaigns, " and ") + wording(len(campaigns), " writes", " write") + " here, too"
}

// shownForeign is how many paths a warning names.
const shownForeign = 5

// warning names the files, and the ways out.
func (cl clearing) warning(found []inTheWay, all makers) diag.Diagnostic {
	var names, renamed []string
	n, files, hidden := 0, 0, 0
	for k := range found {
		f := &found[k]
		for _, o := range f.files {
			many := max(1, o.Files)
			if files += many; n >= shownForeign {
				hidden += many
				continue
			}
			n++
			name := fmt.Sprintf("%s (%s)", o.Path, f.w.p.Address(f.cell))
			if o.Files > 0 { // of a glob or a folder
				name = fmt.Sprintf("%s, %s%s (%s)", o.Path, units.Count(many, "file"), f.named(&o), f.w.p.Address(f.cell))
			}
			names = append(names, name+cl.ifOverwritten(f))
		}
		if job := all.of(f); job != nil && job.Phase != f.w.p.Name && cl.byPhase[job.Phase] == nil {
			hint := fmt.Sprintf("moved {\n  from = phase.%s\n  to   = phase.%s\n}", job.Phase, f.w.p.Name)
			if !slices.Contains(renamed, hint) {
				renamed = append(renamed, hint)
			}
		}
	}
	if hidden > 0 {
		names = append(names, fmt.Sprintf("… and %d more", hidden))
	}
	text := fmt.Sprintf("%s at the output paths of jobs that start:\n  %s\n\nIf you agree, they are moved aside to .muster/replaced before their jobs start. "+
		"Otherwise move them away.", units.Count(files, "file"), strings.Join(names, "\n  "))
	if len(renamed) > 0 {
		text += "\n\nIf the phase was renamed, this block keeps its results:\n\n" + strings.Join(renamed, "\n")
	}
	if blocks := cl.importBlocks(found, all); len(blocks) > 0 {
		text += "\n\nIf they are results to keep, this adopts those that are whole, and nothing is run for them:\n\n" + strings.Join(blocks, "\n")
	}
	return diag.Diagnostic{Severity: diag.Warning, Summary: filesInTheWay, Detail: text}
}

// named names the first files of a pattern or folder.
func (f *inTheWay) named(o *offer.Output) string {
	names := f.ground.Names[o.Path]
	switch {
	case len(names) == 0:
		return ""
	case len(names) < o.Files:
		return fmt.Sprintf(": %s and %d more", strings.Join(names, ", "), o.Files-len(names))
	}
	return ": " + strings.Join(names, ", ")
}

// importBlocks are the import blocks that adopt files in the way. A job gets one if all of its
// outputs exist and no record names their maker.
func (cl clearing) importBlocks(found []inTheWay, all makers) (blocks []string) {
	of := map[*draft][]int{}
	for k := range found {
		f := &found[k]
		there := f.ground.There[f.w.p.Address(f.cell)]
		whole := !slices.ContainsFunc(f.w.p.Outputs, func(d *lang.Output) bool {
			return d.Shared || !slices.ContainsFunc(there, func(o offer.Output) bool { return o.Name == d.Name && o.OK })
		})
		if made := all.of(f); whole && f.w.unadopted[f.cell] == "" && (made == nil || made.Address == f.w.p.Address(f.cell)) {
			of[f.w] = append(of[f.w], f.cell)
		}
	}
	for _, w := range cl.drafts {
		to := "phase." + w.p.Name
		switch len(of[w]) {
		case 0:
			continue
		case 1:
			to = w.p.Address(of[w][0])
		}
		blocks = append(blocks, fmt.Sprintf("import {\n  to = %s\n}", to))
	}
	return blocks
}

// ifOverwritten says of files in the way that their backend moves none aside.
func (cl clearing) ifOverwritten(f *inTheWay) string {
	d := f.w.pp.Decision(f.cell)
	if f.w.pp.Kind[f.cell] == Restore || warnings.Guards(cl.in.Can, d.Backend) {
		return ""
	}
	return ", which backend." + d.Backend + " writes over and does not move aside"
}
