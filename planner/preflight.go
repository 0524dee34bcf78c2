package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/remarks"
)

// mostFindings is how many findings of one phase are listed; more of the same
// help nobody.
const mostFindings = 20

// mostChecked is how many cells of a phase have their preconditions
// evaluated one by one.
const mostChecked = 10_000

// preflight checks, for free, everything that starting would trip over:
// preconditions, every expression of the first job of each kind, secrets, and
// what the refresh found.
func (m *maker) preflight() {
	m.findings()
	if m.in.Options.Destroy {
		return
	}
	if len(m.in.Campaign.UnusedBackends(nil)) > 0 {
		m.diags.Append(m.in.Campaign.UnusedBackends(remarks.Kept(m.st, m.in.Observed.Orphans))...)
	}
	m.diags.Append(remarks.Ahead(m.in.Campaign.Backends, m.in.Now)...)
	secrets := map[string]bool{}
	for _, w := range m.works {
		if !w.starting() {
			continue
		}
		m.preconditions(w)
		m.renderFirst(w)
		for _, s := range w.p.Secrets {
			if why, bad := m.in.Observed.Secrets[s.Name]; bad && !secrets[s.Name] {
				secrets[s.Name] = true
				m.diags.Append(diag.Diagnostic{Summary: fmt.Sprintf("secret %s cannot be read", s.Name), Address: "phase." + w.p.Name, Subject: s.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
					Detail: why + ". It is read again when a job is submitted; set it before you plan."})
			}
		}
	}
}

func (m *maker) preconditions(w *work) {
	if !slices.ContainsFunc(w.p.Preconditions, func(c lang.Precondition) bool { return !c.OnBackend }) {
		return
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
	m.diags.Append(found[:min(len(found), mostFindings)]...)
}

// renderFirst renders the first starting job of each kind, so that an
// expression that cannot be evaluated is known before anything is spent.
func (m *maker) renderFirst(w *work) {
	seen := map[uint16]bool{}
	for i, k := range w.pp.Kind {
		if !k.Starts() || seen[w.pp.Place[i]] {
			continue
		}
		seen[w.pp.Place[i]] = true
		d := w.pp.Decision(i)
		r, l := w.p.Render(i, site(d.Backend, d.Pool, d.Shape.GPUs, d.Shape.CPUs, lang.Run))
		m.diags.Append(l...)
		m.propagates(w, r)
		if len(seen) >= mostFindings {
			break
		}
	}
	if g := w.pp.Smoke; g != nil && len(g.Run) > 0 {
		_, l := w.p.Render(g.Run[0], site(g.Place.Backend, g.Place.Pool, g.Place.Shape.GPUs, g.Place.Shape.CPUs, lang.SmokeRun))
		m.diags.Append(l...)
	}
}

// site is a place to render for when only the expressions matter.
func site(backend, pool string, gpus, cpus int, v lang.Variant) lang.Site {
	return lang.Site{Variant: v, Workdir: "/workdir", SourceDir: "/source", Spool: "/spool", Backend: backend, Pool: pool, GPUs: gpus, CPUs: max(cpus, 1),
		Input: func(name string) []string { return []string{"/workdir/" + name} }}
}

// headBackends are the lines about backends at the head of the plan: those
// where something goes or runs.
func (m *maker) headBackends() {
	used := m.backendsInUse()
	for _, r := range remarks.ByHand(m.st.Rentals, m.in.Campaign.Backends) { // billed there, and given back by what is known of it
		if r.Rented() {
			used[r.Backend] = true
		}
	}
	if len(m.in.Observed.Unreachable) > 0 {
		for _, b := range m.in.Campaign.Backends {
			if _, away := m.in.Observed.Unreachable[b.Address()]; away && !b.Implied {
				used[b.Address()] = true
			}
		}
	}
	if len(used) > 1 {
		m.hideImplied(used)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if name != "" {
			m.plan.Backends = append(m.plan.Backends, m.backendView(name))
		}
	}
}

// hideImplied leaves this machine out where it is one of several backends and
// nobody wrote of it: there is nothing to say of it.
func (m *maker) hideImplied(used map[string]bool) {
	for _, b := range m.in.Campaign.Backends {
		if b.Implied && m.in.Observed.Unreachable[b.Address()] == "" {
			delete(used, b.Address())
		}
	}
}
