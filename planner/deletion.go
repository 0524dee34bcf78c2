package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// deletions lists the outputs of completed jobs, except copies, where the user
// asked for it. Ended are records that have no cell. A file that several jobs
// share is deleted once.
func deletions(fs *facts, ps phases, ended []*state.Job) (out []Deletion, diags diag.List) {
	if !fs.in.Options.Outputs {
		return nil, nil
	}
	seen := map[string]bool{}
	take := func(job *state.Job, outputs []*lang.Output) {
		if job == nil || job.Smoke || len(job.Outputs) == 0 || !fs.targeted(job) {
			return
		}
		for _, o := range job.Outputs {
			at := o.Backend + "\x00" + o.Workdir + "\x00" + o.Path
			if o.Missing || o.Path == "" || seen[at] {
				continue
			}
			seen[at] = true
			out = append(out, Deletion{Address: job.Address, Output: o.Name, Backend: o.Backend, Path: o.Path, Workdir: o.Workdir,
				Bytes: o.Size, Files: max(o.Files, 1), Glob: isGlob(outputs, o)})
		}
	}
	for _, w := range ps.drafts {
		before := len(out)
		for i := range w.pp.Kind {
			if w.chosen(i) {
				take(w.record(i), w.p.Outputs)
			}
		}
		for _, i := range slices.Sorted(maps.Keys(w.forgotten)) {
			take(w.forgotten[i], w.p.Outputs)
		}
		if n := len(out) - before; n > 0 && fs.guarded(w) {
			diags.Append(diag.Diagnostic{Summary: "Outputs of a protected phase would be deleted", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
				Detail: fmt.Sprintf("%d outputs are results that prevent_rerun guards. Destroy without -outputs, or write prevent_rerun = false.", n)})
		}
	}
	for _, job := range ended {
		take(job, nil)
	}
	return out, diags
}

// isGlob tells patterns from names: as declared, or by its look where the
// campaign does not declare the output any more.
func isGlob(declared []*lang.Output, o state.Output) bool {
	for _, d := range declared {
		if d.Name == o.Name {
			return d.Kind == lang.Glob
		}
	}
	return o.Files > 0 && strings.ContainsAny(o.Path, "*?[{")
}
