package apply

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// A disk survives a process: it has the events that were made durable.
type disk struct {
	mu     sync.Mutex
	events []state.Event
	fence  uint64
}

// open starts a holder of the lease with what is durable.
func (d *disk) open(alive func() error) *memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fence++
	m := &memory{disk: d, alive: alive, fence: d.fence, lost: make(chan struct{}), st: &state.State{Version: state.SchemaVersion}}
	for _, ev := range d.events {
		m.st.Apply(ev)
	}
	return m
}

// memory is a store.Session whose process may die at any step.
type memory struct {
	disk  *disk
	alive func() error
	st    *state.State
	fence uint64
	lost  chan struct{}
	queue []state.Event
	syncs int
	tear  int // how many of the queue survive a death in the middle of a Sync
}

func (m *memory) State() *state.State { return m.st }
func (m *memory) Fence() uint64       { return m.fence }
func (m *memory) Holder() string      { return "" }
func (m *memory) Append(events ...state.Event) error {
	for _, ev := range events {
		m.st.Apply(ev)
	}
	m.queue = append(m.queue, events...)
	return nil
}

func (m *memory) Sync(context.Context) error {
	m.syncs++
	m.disk.mu.Lock()
	stale := m.disk.fence != m.fence
	m.disk.mu.Unlock()
	if stale {
		return store.ErrLost
	}
	if m.alive != nil {
		if err := m.alive(); err != nil {
			m.disk.mu.Lock()
			m.disk.events = append(m.disk.events, m.queue[:min(m.tear, len(m.queue))]...)
			m.disk.mu.Unlock()
			m.queue = nil
			return err
		}
	}
	m.disk.mu.Lock()
	m.disk.events = append(m.disk.events, m.queue...)
	m.disk.mu.Unlock()
	m.queue = m.queue[:0]
	return nil
}

func (m *memory) Lost() <-chan struct{}       { return m.lost }
func (m *memory) Close(context.Context) error { return nil }

func text(v any) string { b, _ := json.Marshal(v); return string(b) }
