// Package store defines the interface of a state's storage. A store holds a
// snapshot and journals, leases the right to write to one holder at a time, and
// never acknowledges an event that is not durable. A registry opens stores by
// type.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
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
	// Holder says who holds the lease and how that looks from here; nil when
	// nobody does. It takes no lock.
	Holder(ctx context.Context) (*LockedError, error)
	// ForceUnlock clears the lease with the given id. Its holder, if alive
	// after all, is fenced out.
	ForceUnlock(ctx context.Context, id string) error
	// History calls fn for every event known, oldest first, until it returns
	// false.
	History(ctx context.Context, fn func(Record) bool) error
	// Push replaces the snapshot; lineage must match and serial must not be
	// smaller, unless force.
	Push(ctx context.Context, snapshot []byte, force bool) error
	// Location is where the state is kept: a path or an address, for people and
	// for asking whether this campaign may write there.
	Location() string
	// Pull returns the snapshot's bytes, with the journal folded in.
	Pull(ctx context.Context) ([]byte, error)
}

// A Glancer is a store that keeps a glance of its state: enough for the plan of
// a campaign whose work is over.
type Glancer interface {
	// Glance returns false where there is none of the state as it is now.
	Glance(ctx context.Context) (*glance.Glance, bool)
}

// A Session is the lease held, with the state it guards. All methods are for
// one goroutine, but for Lost.
type Session interface {
	// State is the fold of everything acknowledged and appended.
	State() *state.State
	// Fence is the number that grows with every holder.
	Fence() uint64
	// Holder is the id of the lease. Copies of one state may give the same
	// fence; they never have the same holder.
	Holder() string
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

// A Record is an event in a journal.
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
	Boot      string    `json:"boot"`    // id of the boot and of the pid namespace
	Machine   string    `json:"machine"` // id of the installation, empty where there is none
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
	Alive string // "alive", "stopped", "dead", "unknown": how the holder looks from here
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("state locked by %s on %s (pid %d, %s)", e.Lease.Who, e.Lease.Host, e.Lease.PID, e.Lease.Purpose)
}

// Gone reports whether the holder looks dead from here.
func (e *LockedError) Gone() bool { return e.Alive == "dead" }

// Left says who went without giving the lease back.
func (e *LockedError) Left() string {
	l := e.Lease
	return fmt.Sprintf("%s on %s (pid %d) took the state's lock on %s for %s and has exited; last seen %s.",
		l.Who, l.Host, l.PID, units.FormatSecond(l.Since), l.Purpose, units.FormatSecond(l.Heartbeat))
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

// Forgotten is what to know before going on without events that were
// acknowledged: without a token, nothing can be asked for.
const Forgotten = "Jobs whose intent is still recorded are found by their tokens at the next plan; those that were submitted later are unknown, " +
	"and run again: see first that none of them runs."

// WayJournal is the way out of a journal that is damaged at a byte.
func WayJournal(path string, offset int64) string {
	dir, base := filepath.Split(path)
	lock := dir + strings.TrimSuffix(base, filepath.Ext(base)) // less the fence
	lock = strings.TrimSuffix(lock, ".journal") + ".lock"
	return fmt.Sprintf("Put the file back from a copy of your own. Without one, the records before the damage can be kept: copy the directory aside, "+
		"then run \"truncate -s %d %s\" and \"rm -f %s\". Later records are lost. %s",
		offset, path, lock, Forgotten)
}

// WaySnapshot is the way out of a snapshot that is damaged.
func WaySnapshot(path string) string {
	return fmt.Sprintf("Nothing is lost if the backup beside it is whole: copy the directory aside, then run \"cp %s.backup %s\"; later records come from the journals and the history at the next command. "+
		"If it was edited on purpose, give it to \"muster state push\" instead.", path, path)
}

// A NewerError says that a file was written by a later muster.
type NewerError struct {
	Path   string
	Format int    // of the file
	Known  int    // the latest this muster reads
	Muster string // version that wrote it
}

func (e *NewerError) Error() string {
	if e.Muster == "" {
		return fmt.Sprintf("%s has format %d; this muster reads formats up to %d: use a newer one", e.Path, e.Format, e.Known)
	}
	return fmt.Sprintf("%s has format %d, written by muster %s; this muster reads formats up to %d: use muster %s or a newer one",
		e.Path, e.Format, e.Muster, e.Known, e.Muster)
}

// A WriteError says what could not be made durable, and the way out. Nothing
// after the last acknowledged event was recorded.
type WriteError struct {
	Path string
	Err  error
	Way  string // what to do next
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.Path, e.Err) }
func (e *WriteError) Unwrap() error { return e.Err }

// A ReadError says what this user may not read, and the way out.
type ReadError struct {
	Path string
	Err  error
	Way  string // what to do next
}

func (e *ReadError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }
func (e *ReadError) Unwrap() error { return e.Err }

// Detail says who holds the lease since when and what for, how that looks from
// here, and how to clear it.
func (e *LockedError) Detail() string {
	l := e.Lease
	looks := "is alive"
	switch e.Alive {
	case "dead":
		looks = "looks dead"
	case "stopped":
		looks = fmt.Sprintf("is suspended, and \"fg\" in its terminal or \"kill -CONT %d\" lets it continue", l.PID)
	case "unknown":
		looks = "does not respond now"
	}
	return fmt.Sprintf("%s on %s (pid %d) has held it since %s for %s; last seen %s: it %s. Wait for it (-lock-timeout=10m), or, if you are sure that it has ended, run \"muster force-unlock %s\". Lease: %s",
		l.Who, l.Host, l.PID, units.FormatSecond(l.Since), l.Purpose, units.FormatSecond(l.Heartbeat), looks, l.ID, e.Where)
}
