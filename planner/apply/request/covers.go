package request

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
)

// Covers is a test for the jobs that addresses name: exact ones, phases and
// selections. None name every job.
func Covers(addresses []string) (func(p *lang.Phase, cell int) bool, error) {
	if len(addresses) == 0 {
		return func(*lang.Phase, int) bool { return true }, nil
	}
	exact, sels := map[string]bool{}, []addr.Selection{}
	for _, a := range addresses {
		if _, err := addr.Parse(a); err == nil {
			exact[a] = true
			continue
		}
		s, err := addr.ParseSelection(a)
		if err != nil {
			return nil, err
		}
		sels = append(sels, s)
	}
	return func(p *lang.Phase, cell int) bool {
		if exact["phase."+p.Name] || exact[p.Address(cell)] {
			return true
		}
		for i := range sels {
			if sels[i].Match(addr.Job{Phase: p.Name, Key: p.Key(cell)}, p.Label(cell)) {
				return true
			}
		}
		return false
	}, nil
}
