package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// allowed tells phases of which the policy forbids every candidate.
func (l *loader) allowed() {
	for _, p := range l.order {
		if len(p.Candidates) > 0 && !slices.ContainsFunc(p.Candidates, l.c.Policy.Permits) {
			l.Perhaps.Errorat(p.b.One("place").Expr("candidates").Range(), "The policy forbids every candidate", "phase.%s may run on %s, and policy allows none of them.", p.Name, strings.Join(p.Candidates, ", "))
		}
	}
}

// known reports whether there is a phase of a name, and tells one that is not.
func (l *loader) known(name string, at hcl.Range) bool {
	if l.phases[name] == nil {
		l.unknownPhase(name, at)
		return false
	}
	return true
}
