package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
)

// namedRows is how many rows a refusal lists by name.
const namedRows = 20

// protect refuses to re-run what prevent_rerun guards. The state remembers
// the guard, so that deleting its block does not disarm it; writing
// prevent_rerun = false does.
func (m *maker) protect() {
	for _, w := range m.works {
		l := w.p.Lifecycle
		if !m.guarded(w) {
			continue
		}
		names, n := "", 0
		for i, k := range w.pp.Kind {
			if k != Rerun && k != Restart {
				continue
			}
			if n++; n <= namedRows {
				names += "\n  " + w.p.Address(i)
			}
		}
		if n == 0 {
			continue
		}
		how := "the phase's lifecycle says prevent_rerun"
		if !l.PreventRerun {
			how = "the state remembers prevent_rerun, though the block is gone"
		}
		m.diags.Append(diag.Diagnostic{Summary: "a protected phase would be re-run", Address: "phase." + w.p.Name, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
			Detail: fmt.Sprintf("%d finished or running jobs would be run again, and %s:%s\n\nKeep the results with -accept=phase.%s, or write prevent_rerun = false.", n, how, names, w.p.Name)})
	}
}

// guarded reports whether prevent_rerun holds for a phase: it is written, or
// remembered and not disarmed.
func (m *maker) guarded(w *work) bool {
	l := w.p.Lifecycle
	return l.PreventRerun || m.st.Protected[w.p.Name] && !l.PreventRerunSet
}

// Protected names the phases that are guarded now, for the state to remember.
func (p *Plan) Protected() []string {
	var out []string
	for _, pp := range p.Phases {
		if pp.Phase.Lifecycle.PreventRerun {
			out = append(out, pp.Phase.Name)
		}
	}
	return out
}

// Unprotected names the phases whose guard is disarmed: prevent_rerun = false
// is written.
func (p *Plan) Unprotected() []string {
	var out []string
	for _, pp := range p.Phases {
		if l := pp.Phase.Lifecycle; l.PreventRerunSet && !l.PreventRerun {
			out = append(out, pp.Phase.Name)
		}
	}
	return out
}

// A Destruction is one row that re-runs finished work, cancels or releases.
type Destruction struct {
	Kind    Kind
	Address string
	Release bool
}

// Destructive lists the rows that need approval of their own, in plan order.
func (p *Plan) Destructive() []Destruction {
	var out []Destruction
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k.Destroys() {
				out = append(out, Destruction{Kind: k, Address: pp.Phase.Address(i)})
			}
		}
	}
	for _, r := range p.Loose {
		if r.Detail.Destroy {
			out = append(out, Destruction{Kind: r.Kind, Address: r.Address, Release: r.Release})
		}
	}
	return out
}

// DestructiveRows are the addresses of Destructive by what a flag must allow:
// re-runs, and cancels with releases.
func (p *Plan) DestructiveRows() (reruns, cancels []string) {
	for _, d := range p.Destructive() {
		if d.Kind == Rerun {
			reruns = append(reruns, d.Address)
		} else {
			cancels = append(cancels, d.Address)
		}
	}
	return reruns, cancels
}

// NeedsSaved says why no flag approves the plan, "" when one may.
func (p *Plan) NeedsSaved(time.Time) string { return strings.Join(p.Asks, "; ") }
