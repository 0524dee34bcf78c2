package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/journal"
	"github.com/muster-run/muster/state/snapshot"
	"github.com/muster-run/muster/state/store"
)

// Read returns the state as last acknowledged. It takes no lock. Apparent
// damage is checked again before it is believed: over NFS only half of a
// growing file may be visible.
func (s *Store) Read(ctx context.Context) (*state.State, error) {
	for try := 1; ; try++ {
		l, err := s.load(math.MaxUint64)
		if err == nil {
			return l.state, nil
		}
		var corrupt *store.CorruptError
		if !errors.As(err, &corrupt) || try == 3 {
			return nil, s.unreadable(err)
		}
		if err := pause(ctx, time.Duration(try)*20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// A reader reads the files. It takes no lock.
type reader struct {
	*directory
	leases *leases
}

// loaded is the content of the files.
type loaded struct {
	state    *state.State
	journals []*journal.Journal // in order of their fences
	accepted []int              // lines of each that are accepted
	snapshot int64              // bytes; 0 if there is none
	folded   uint64             // last event in the snapshot
}

// load reads everything, up to event limit. The order matters, as nothing is locked: the lease
// first, so that the events that it acknowledges must be found afterwards; journals before the
// snapshot, because a fold writes the snapshot first and removes journals then, so none is
// missed; the history last.
func (r *reader) load(limit uint64) (*loaded, error) {
	held, err := r.leases.readLease(r.lock())
	if err != nil {
		return nil, err
	}
	l := &loaded{}
	if err := r.loadJournals(l); err != nil {
		return nil, err
	}
	if err := r.loadSnapshot(l, held); err != nil {
		return nil, err
	}
	if err := r.replayHistory(l, limit); err != nil {
		return nil, err
	}
	if err := r.replay(l, limit); err != nil {
		return nil, err
	}
	if held != nil && limit == math.MaxUint64 && l.state.Seq < held.lease.Acked {
		return nil, r.missing(l, held)
	}
	return l, nil
}

// missing reports that acknowledged events are not there.
func (r *reader) missing(l *loaded, held *found) error {
	e := &store.CorruptError{Path: r.path, Offset: l.snapshot, Why: fmt.Sprintf(
		"events %d to %d were acknowledged and are gone", l.state.Seq+1, held.lease.Acked)}
	if n := len(l.journals); n > 0 {
		e.Path, e.Offset = l.journals[n-1].Path, l.journals[n-1].Size
	}
	e.Way = fmt.Sprintf("Put the file back from a copy of your own. To go on without these events: copy the directory aside, then run \"rm %s\". %s",
		r.lock(), store.Forgotten)
	return e
}

func (r *reader) loadJournals(l *loaded) error {
	fences, err := r.journals()
	if err != nil {
		return err
	}
	for _, fence := range fences {
		path := r.journal(fence)
		data, err := r.fs.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // folded in this moment
		}
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		j, err := journal.Parse(path, data)
		if err != nil {
			return err
		}
		if err := named(j.Header, path, fence); err != nil {
			return err
		}
		l.journals = append(l.journals, j)
	}
	return nil
}

// named refuses a journal that has the name of another.
func named(h journal.Header, path string, fence uint64) error {
	if h.Fence == fence {
		return nil
	}
	return &store.CorruptError{Path: path, Why: fmt.Sprintf("it is the journal of holder %d", h.Fence), Way: "Give the file its own name back."}
}

func (r *reader) loadSnapshot(l *loaded, held *found) error {
	data, err := r.fs.ReadFile(r.path)
	if err == nil {
		l.snapshot = int64(len(data))
		if l.state, err = snapshot.Decode(r.path, data); err != nil {
			return err
		}
		l.folded = l.state.Seq
		return r.outlived(l)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read state: %w", err)
	}
	l.state = state.New("")
	var witness string
	switch {
	case r.there(r.backup()):
		witness = r.backup()
	case r.there(r.history()):
		witness = r.history()
	case len(l.journals) > 0:
		witness = l.journals[0].Path
	case held != nil && held.lease.Acked > 0:
		witness = r.lock()
	default:
		return nil // never applied
	}
	return &store.CorruptError{Path: r.path, Why: fmt.Sprintf("it is gone, but %s shows that there was one", witness), Way: fmt.Sprintf(
		"Put it back from a copy of your own, or run \"cp %s %s\": later records come from the journals and the history. To start from nothing, move every file named %s.* away.",
		r.backup(), r.path, r.base)}
}

func (d *directory) there(path string) bool {
	_, err := d.fs.Stat(path)
	return err == nil
}

// outlived finds a snapshot that a holder wrote after it had lost the lease:
// it has events that the next holder did not accept.
func (r *reader) outlived(l *loaded) error {
	for _, j := range l.journals {
		if h := j.Header; h.Fence > l.state.Fence && h.After.Seq < l.state.Seq {
			return &store.CorruptError{Path: r.path, Why: fmt.Sprintf(
				"it was written by holder %d after it had lost the lease, and has events that holder %d did not accept", l.state.Fence, h.Fence),
				Way: fmt.Sprintf("Copy the directory aside, then run \"cp %s %s\".", r.backup(), r.path)}
		}
	}
	return nil
}
