package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/warnings"
)

// mostFindings is how many findings of one phase are listed; more of the same
// help nobody.
const mostFindings = 20

// mostChecked is how many cells of a phase have their preconditions
// evaluated one by one.
const mostChecked = 10_000

// preflight checks, for free, everything that starting would trip over:
// preconditions, every expression of the first job of each kind, secrets, and
// what the refresh found. Used are the backends where something goes.
func preflight(fs *facts, ps phases, used map[string]bool) report {
	out := report{diags: findings(fs, ps, used)}
	if fs.in.Options.Destroy {
		return out
	}
	c := fs.in.Campaign
	if len(c.UnusedBackends(nil)) > 0 {
		out.diags.Append(c.UnusedBackends(warnings.NeededBackends(fs.st, fs.in.Observed.Orphans))...)
	}
	out.diags.Append(warnings.Ahead(c.Backends, fs.in.Now)...)
	secrets := map[string]bool{}
	for _, w := range ps.drafts {
		if !w.starting() {
			continue
		}
		out.diags.Append(w.preconditions()...)
		out.add(w.renderFirst(fs.in.Observed.Scripts[w.p.Name]))
		for _, s := range w.p.Secrets {
			if why, bad := fs.in.Observed.Secrets[s.Name]; bad && !secrets[s.Name] {
				secrets[s.Name] = true
				out.diags.Append(diag.Diagnostic{Summary: fmt.Sprintf("Secret %s cannot be read", s.Name), Address: "phase." + w.p.Name, Subject: s.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
					Detail: why + ". It is read again when a job is submitted; set it before you plan."})
			}
		}
	}
	return out
}

func (w *draft) preconditions() diag.List {
	if !slices.ContainsFunc(w.p.Preconditions, func(c lang.Precondition) bool { return !c.OnBackend }) {
		return nil
	}
	var found diag.List
	checked := 0
	for i, k := range w.pp.Kind {
		if !k.Starts() && k != Blocked {
			continue
		}
		if checked++; checked > mostChecked {
			break
		}
		found.Append(w.p.CheckPreconditions(i)...)
	}
	found = found.Once()
	return found[:min(len(found), mostFindings)]
}

// renderFirst renders the first starting job of each kind, so that an
// expression that cannot be evaluated is known before anything is spent.
func (w *draft) renderFirst(scripts []observed.Script) (out report) {
	seen := map[uint16]bool{}
	propagating := false
	for i, k := range w.pp.Kind {
		if !k.Starts() || seen[w.pp.Place[i]] {
			continue
		}
		seen[w.pp.Place[i]] = true
		d := w.pp.Decision(i)
		r, l := w.p.Render(i, site(d.Backend, d.Pool, d.Shape.GPUs, d.Shape.CPUs, lang.Run))
		out.diags.Append(l...)
		if !propagating {
			var told report
			told, propagating = propagates(w.p, r, scripts)
			out.add(told)
		}
		if len(seen) >= mostFindings {
			break
		}
	}
	if g := w.pp.Smoke; g != nil && len(g.Run) > 0 {
		_, l := w.p.Render(g.Run[0], site(g.Place.Backend, g.Place.Pool, g.Place.Shape.GPUs, g.Place.Shape.CPUs, lang.SmokeRun))
		out.diags.Append(l...)
	}
	return out
}

// site is a place to render for when only the expressions matter.
func site(backend, pool string, gpus, cpus int, v lang.Variant) lang.Target {
	return lang.Target{Variant: v, Workdir: "/workdir", SourceDir: "/source", Spool: "/spool", Backend: backend, Pool: pool, GPUs: gpus, CPUs: max(cpus, 1),
		Input: func(name string) []string { return []string{"/workdir/" + name} }}
}
