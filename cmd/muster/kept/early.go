package kept

import (
	"context"
	"sync"

	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// An Early reads a state while the campaign is still being loaded: of many
// jobs, each takes as long as the other. Where the state lies is a guess until
// the campaign is there: beside it, as nearly always.
type Early struct {
	Path string      // of the snapshot; "" if nothing was read
	done func() read // waits for it
}

type read struct {
	seen *glance.Glance // all that was read, if every job is done or stopped and every file as recorded
	st   *state.State
	err  error
}

// ReadEarly begins to read the state beside the campaign; at a glance, if that
// may do, and looking at its files.
func (q Asked) ReadEarly(ctx context.Context, glance bool) Early {
	s, err := file.Open(q.Load.Dir, file.Options{Muster: q.Load.Version})
	if err != nil {
		return Early{}
	}
	done := make(chan read, 1)
	go func() {
		var got read
		if glance {
			got.seen = Look(ctx, s, q.Refresh)
		}
		if got.seen == nil {
			got.st, got.err = s.Read(ctx)
		}
		done <- got
	}()
	return Early{s.Path(), sync.OnceValue(func() read { return <-done })}
}

// Look is a glance at a state in which every job is done or stopped, and every
// file as it was recorded; nil: there is more to know.
func Look(ctx context.Context, s *file.Store, files bool) *glance.Glance {
	g, ok := s.Glance(ctx)
	if !ok || files && !refresh.Untouched(ctx, g) {
		return nil
	}
	return g
}

// of is what was read, if the store turned out to be the one that was guessed.
func (e Early) of(s store.Store) read {
	if f, ok := s.(*file.Store); ok && e.Path != "" && f.Path() == e.Path {
		return e.done()
	}
	return read{}
}

// Seen is the glance that was read, nil where it does not do or the store is
// another one.
func (e Early) Seen(s store.Store) *glance.Glance { return e.of(s).seen }

// State is what the store holds: as read early, or read now if the guess was
// wrong, the reading failed, or was a glance.
func (e Early) State(ctx context.Context, s store.Store) (*state.State, error) {
	if got := e.of(s); got.st != nil && got.err == nil {
		return got.st, nil
	}
	return s.Read(ctx)
}
