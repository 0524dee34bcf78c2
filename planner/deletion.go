package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// deletions lists what completed jobs left, copies excepted, where the person
// asked for it. A file that several jobs share is deleted once.
func (m *maker) deletions() {
	if !m.in.Options.Destroy || !m.in.Options.Outputs {
		return
	}
	seen := map[string]bool{}
	take := func(job *state.Job, outputs []*lang.Output) {
		if job == nil || job.Smoke || len(job.Outputs) == 0 || !m.targeted(job) {
			return
		}
		for _, o := range job.Outputs {
			at := o.Backend + "\x00" + o.Workdir + "\x00" + o.Path
			if o.Missing || o.Path == "" || seen[at] {
				continue
			}
			seen[at] = true
			m.plan.Deletions = append(m.plan.Deletions, Deletion{Address: job.Address, Output: o.Name, Backend: o.Backend, Path: o.Path, Workdir: o.Workdir,
				Bytes: o.Size, Files: max(o.Files, 1), Glob: isGlob(outputs, o)})
		}
	}
	for _, w := range m.works {
		before := len(m.plan.Deletions)
		for i := range w.pp.Kind {
			if w.chosen(i) {
				take(w.record(i), w.p.Outputs)
			}
		}
		for _, i := range sortedCells(w.forgotten) {
			take(w.forgotten[i], w.p.Outputs)
		}
		if n := len(m.plan.Deletions) - before; n > 0 && m.guarded(w) {
			m.diags.Append(diag.Diagnostic{Summary: "outputs of a protected phase would be deleted", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
				Detail: fmt.Sprintf("%d outputs are results that prevent_rerun guards. Destroy without -outputs, or write prevent_rerun = false.", n)})
		}
	}
	for _, job := range m.ended {
		take(job, nil)
	}
	m.plan.Counts.Delete = len(m.plan.Deletions)
}

func sortedCells(m map[int]*state.Job) []int {
	out := make([]int, 0, len(m))
	for i := range m {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
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
