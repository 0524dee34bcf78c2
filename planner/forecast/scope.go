package forecast

import (
	"strings"

	"github.com/muster-run/muster/lang"
)

// Scopes are the sets of jobs that budgets count.
func Scopes(budgets []lang.Budget) []Scope {
	var out []Scope
	for _, b := range budgets {
		s := Scope{Name: b.Name, Phases: map[string]bool{}, Backends: map[string]bool{}}
		for _, a := range b.AppliesTo {
			if name, ok := strings.CutPrefix(a, "phase."); ok {
				s.Phases[name] = true
			} else if name, ok := strings.CutPrefix(a, "backend."); ok {
				s.Backends[name] = true
			}
		}
		out = append(out, s)
	}
	return out
}
