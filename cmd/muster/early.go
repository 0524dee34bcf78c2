package main

import (
	"context"
	"sync"

	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// An earlyRead reads a state while the campaign is still being loaded: of many
// jobs, each takes as long as the other. Where the state lies is a guess until
// the campaign is there: beside it, as nearly always.
type earlyRead struct {
	path string            // of the snapshot; "" if nothing was read
	done func() earlyState // waits for it
}

type earlyState struct {
	seen *glance.Glance // all that was read, if every job is done or stopped and every file as recorded
	st   *state.State
	err  error
}

// readEarly begins to read the state beside the campaign; at a glance, if that
// may do, and looking at its files.
func (a *app) readEarly(ctx context.Context, p planFlags) earlyRead {
	s, err := file.Open(a.dir, file.Options{Muster: version})
	if err != nil {
		return earlyRead{}
	}
	done := make(chan earlyState, 1)
	go func() {
		var got earlyState
		if p.glance {
			got.seen = look(ctx, s, p.refresh)
		}
		if got.seen == nil {
			got.st, got.err = s.Read(ctx)
		}
		done <- got
	}()
	return earlyRead{s.Path(), sync.OnceValue(func() earlyState { return <-done })}
}

// look is a glance at a state in which every job is done or stopped, and every
// file as it was recorded; nil: there is more to know.
func look(ctx context.Context, s *file.Store, files bool) *glance.Glance {
	g, ok := s.Glance(ctx)
	if !ok || files && !refresh.Untouched(ctx, g) {
		return nil
	}
	return g
}

// of is what was read, if the store turned out to be the one that was guessed.
func (e earlyRead) of(s store.Store) earlyState {
	if f, ok := s.(*file.Store); ok && e.path != "" && f.Path() == e.path {
		return e.done()
	}
	return earlyState{}
}

// state is what the store holds: as read early, or read now if the guess was
// wrong, the reading failed, or was a glance.
func (e earlyRead) state(ctx context.Context, s store.Store) (*state.State, error) {
	if got := e.of(s); got.st != nil && got.err == nil {
		return got.st, nil
	}
	return s.Read(ctx)
}
