package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/backends"
)

// allowed reports phases of which the policy forbids every candidate.
func (ps *phases) allowed(by Policy) {
	for _, p := range ps.order {
		if len(p.Candidates) > 0 && !slices.ContainsFunc(p.Candidates, by.Permits) {
			ps.Perhaps.Errorat(p.b.One("place").Expr("candidates").Range(), "The policy forbids every candidate", "phase.%s may run on %s, and policy allows none of them.", p.Name, strings.Join(p.Candidates, ", "))
		}
	}
}

// UnusedBackends warns of declared backends on which nothing may ever run: no
// phase names them, nor does a rule or an import, and the policy does not keep
// them out on purpose. kept are the addresses of those that are needed all the
// same, since work is there.
func (c *Campaign) UnusedBackends(kept map[string]bool) diag.List {
	var ds diag.List
	if len(c.Phases) == 0 {
		return nil // there is nothing to run, which is reported
	}
	used := c.mayRunOn()
	for _, b := range c.Backends {
		if at := b.Address(); !b.Implied && len(b.Rented) == 0 && !used[at] && !kept[at] && c.Policy.Permits(at) {
			ds.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A backend that nothing runs on", Subject: b.Range.Ptr(), Address: "backend." + at,
				Detail: "No phase may run on backend." + at + ": add it to the candidates of a phase's place block, or remove it once it has no job or file of earlier work."})
		}
	}
	return ds
}

// Beyond are the backends that jobs of a phase may go to beside its candidates: those of
// its overflow, and those to which failures move them.
func Beyond(p *Phase) []string {
	out := slices.Clone(p.Overflow)
	for _, class := range slices.Sorted(maps.Keys(p.Retry.Place)) {
		out = append(out, p.Retry.Place[class]...)
	}
	return out
}

// mayRunOn are the backends that phases, rules and imports name. A phase that
// names none goes to this machine, and one with GPUs to any.
func (c *Campaign) mayRunOn() map[string]bool {
	used := map[string]bool{}
	add := func(addresses ...string) {
		for _, at := range addresses {
			used[at] = true
		}
	}
	for _, r := range c.Policy.Rules {
		add(r.Use)
	}
	for _, im := range c.Imports {
		if im.Backend != "" {
			add(im.Backend)
		}
	}
	for _, p := range c.Phases {
		add(p.Candidates...)
		add(Beyond(p)...)
		for _, in := range p.Raw {
			add(in.Backend)
		}
		if p.Smoke != nil {
			add(p.Smoke.Candidates...)
		}
		if len(p.Candidates) > 0 {
			continue
		}
		add(backends.Local)
		if slices.ContainsFunc(p.Requests(Run), func(r Request) bool { return r.Shape.GPUs > 0 }) {
			for _, b := range c.Backends {
				add(b.Address())
			}
		}
	}
	return used
}
