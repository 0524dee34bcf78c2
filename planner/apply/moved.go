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
	here := func(backend string) bool {
		b := e.fleet.Contacts[backend]
		return backend == "local.local" || b != nil && !b.Can.Remote && b.Conf.Type == "local"
	}
	if seen := haul.Follow(p.Phase, int(cell), rec.Outputs, here); len(seen) > 0 {
		e.emit(state.OutputsSeen{Address: address, Outputs: seen, At: e.Clock()})
	}
}
