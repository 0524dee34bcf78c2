package history

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// ByCell lays the records of a state beside the cells of its campaign, by phase: nil
// where a phase was never attempted. Smokes are left out, and jobs that has refuses;
// nil refuses none.
func ByCell(c *lang.Campaign, st *state.State, has func(address string) bool) map[string][]*state.Job {
	phases, out := map[string]*lang.Phase{}, map[string][]*state.Job{}
	for _, p := range c.Phases {
		phases[p.Name] = p
	}
	to := MovedOf(c.Moved)
	for _, job := range st.All() {
		address, _ := to.Follow(job.Address)
		at, err := addr.Parse(address)
		if err != nil || job.Smoke || job.Status == state.Forgotten || has != nil && !has(address) {
			continue
		}
		p := phases[at.Phase]
		if p == nil {
			continue
		}
		cell, ok := p.Index(at.Key)
		if !ok {
			continue
		}
		records := out[p.Name]
		if records == nil {
			records = make([]*state.Job, p.Len())
			out[p.Name] = records
		}
		if records[cell] == nil || address == job.Address { // a taken address is left alone
			records[cell] = job
		}
	}
	return out
}
