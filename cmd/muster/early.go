package main

import (
	"context"
	"sync"

	"github.com/muster-run/muster/state"
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
	glance *state.State // all that was read, if that was asked for and there is one
	st     *state.State
	err    error
}

// readEarly begins to read the state beside the campaign; a glance at it, if
// one will do.
func (a *app) readEarly(ctx context.Context, glance bool) earlyRead {
	s, err := file.Open(a.dir, file.Options{Muster: version})
	if err != nil {
		return earlyRead{}
	}
	done := make(chan earlyState, 1)
	go func() { done <- look(ctx, s, glance) }()
	return earlyRead{s.Path(), sync.OnceValue(func() earlyState { return <-done })}
}

func look(ctx context.Context, s *file.Store, glance bool) (got earlyState) {
	if glance {
		if st, ok := s.Glance(ctx); ok {
			return earlyState{glance: st}
		}
	}
	got.st, got.err = s.Read(ctx)
	return got
}

// of is what was read, if the store turned out to be the one that was guessed.
func (e earlyRead) of(s store.Store) earlyState {
	if f, ok := s.(*file.Store); ok && e.path != "" && f.Path() == e.path {
		return e.done()
	}
	return earlyState{}
}

// glance is what a glance at the store shows; nil if that is not enough.
func (e earlyRead) glance(s store.Store) *state.State { return e.of(s).glance }

// state is what the store holds: as read early, or read now if the guess was
// wrong, the reading failed, or was a glance.
func (e earlyRead) state(ctx context.Context, s store.Store) (*state.State, error) {
	if got := e.of(s); got.st != nil && got.err == nil {
		return got.st, nil
	}
	return s.Read(ctx)
}
