package planner

import (
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/holds"
)

// heldBy says who holds a cell and why; "" when nobody does.
func (m *maker) heldBy(w *work, i int) string {
	for at := range m.holds {
		if h := &m.holds[at]; h.Covers(addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, w.p.Label(i)) {
			return h.Text()
		}
	}
	if b, ok := m.st.Breakers[w.p.Name]; ok {
		return holds.Breaker(w.p.Name, b)
	}
	return ""
}
