package apply

import (
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/state"
)

// moveFiles renames the files of a moved job where its declared paths changed
// and they lie on this machine; elsewhere the record goes on pointing to where
// they are.
func (e *engine) moveFiles(p *phase, cell int32, address string) {
	rec := e.st.Jobs[address]
	if rec == nil || rec.Status != state.Completed {
		return
	}
	if seen := haul.Follow(p.Phase, int(cell), rec.Outputs, e.fleet.Here); len(seen) > 0 {
		e.emit(state.OutputsSeen{Address: address, Outputs: seen, At: e.Clock()})
	}
}
