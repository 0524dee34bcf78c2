// Package store says what a durable home of a state must do: hold a snapshot
// and journals, lease the right to write to one holder at a time, and never
// acknowledge what is not durable.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/state"
)

// A Store is the durable home of one campaign's state.
type Store interface {
	// Read returns the state as last acknowledged. It takes no lock and may
	// be called while another process holds the lease. A campaign never
	// applied gives an empty State with Version set and no lineage.
	Read(ctx context.Context) (*state.State, error)
	// Acquire takes the lease, or returns *LockedError. Wait is how long to
	// keep trying; purpose is shown to whoever finds it taken.
	Acquire(ctx context.Context, purpose string, wait time.Duration) (Session, error)
	// ForceUnlock clears the lease with the given id. Its holder, if alive
	// after all, is fenced out.
	ForceUnlock(ctx context.Context, id string) error
	// History calls fn for every event known, oldest first, until it returns
	// false.
	History(ctx context.Context, fn func(Record) bool) error
	// Push replaces the snapshot; lineage must match and serial must not be
	// smaller, unless force.
	Push(ctx context.Context, snapshot []byte, force bool) error
	// Pull returns the snapshot's bytes, with the journal folded in.
	Pull(ctx context.Context) ([]byte, error)
}

// A Session is the lease held, with the state it guards. All methods are for
// one goroutine, but for Lost.
type Session interface {
	// State is the fold of everything acknowledged and appended.
	State() *state.State
	// Fence is the number that grows with every holder.
	Fence() uint64
	// Append folds events into State and queues them; they are durable when
	// Sync returns nil.
	Append(events ...state.Event) error
	// Sync makes everything appended durable (one fsync for all of it).
	Sync(ctx context.Context) error
	// Lost is closed when the lease is not ours any more.
	Lost() <-chan struct{}
	// Close folds the journal into a new snapshot and gives the lease back.
	Close(ctx context.Context) error
}

// A Record is an event as it lies in a journal.
type Record struct {
	Fence uint64
	Seq   uint64
	At    time.Time
	Event state.Event
}

// A Lease is who holds the right to write.
type Lease struct {
	ID        string    `json:"id"`
	Fence     uint64    `json:"fence"`
	Who       string    `json:"who"`
	Host      string    `json:"host"`
	Boot      string    `json:"boot"`
	PID       int       `json:"pid"`
	PIDStart  uint64    `json:"pid_start"` // start time of the process, against reused pids
	Since     time.Time `json:"since"`
	Heartbeat time.Time `json:"heartbeat"`
	Purpose   string    `json:"purpose"`
	Acked     uint64    `json:"acked"` // last acknowledged sequence number
}

// LockedError says who holds the lease.
type LockedError struct {
	Lease Lease
	Where string // path of the lease
	Alive string // "alive", "dead", "unknown": how the holder looks from here
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("state locked by %s on %s (pid %d, %s)", e.Lease.Who, e.Lease.Host, e.Lease.PID, e.Lease.Purpose)
}

// ErrLost says that the lease was taken over: nothing more may be written.
var ErrLost = errors.New("lease lost to another holder")

// A CorruptError says where a state or journal cannot be read, and the way out.
type CorruptError struct {
	Path   string
	Offset int64
	Why    string
	Way    string // what to do next
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", e.Path, e.Offset, e.Why)
}
