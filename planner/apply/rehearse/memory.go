package rehearse

import (
	"context"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// memory is a session that remembers nothing beyond the rehearsal.
type memory struct{ st *state.State }

var _ store.Session = (*memory)(nil)

func (m *memory) State() *state.State         { return m.st }
func (m *memory) Fence() uint64               { return m.st.Fence + 1 }
func (m *memory) Holder() string              { return "" }
func (m *memory) Sync(context.Context) error  { return nil }
func (m *memory) Lost() <-chan struct{}       { return nil }
func (m *memory) Close(context.Context) error { return nil }
func (m *memory) Append(events ...state.Event) error {
	for _, ev := range events {
		m.st.Apply(ev)
	}
	return nil
}
