package main

import (
	"context"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// An earlyRead reads a state while the campaign is still being loaded: of many
// jobs, each takes as long as the other. Where the state lies is a guess until
// the campaign is there: beside it, as nearly always.
type earlyRead struct {
	path string // of the snapshot; "" if nothing was read
	done chan earlyState
}

type earlyState struct {
	st  *state.State
	err error
}

// readEarly begins to read the state beside the campaign.
func (a *app) readEarly(ctx context.Context) earlyRead {
	s, err := file.Open(a.dir, file.Options{Muster: version})
	if err != nil {
		return earlyRead{}
	}
	e := earlyRead{s.Path(), make(chan earlyState, 1)}
	go func() {
		st, err := s.Read(ctx)
		e.done <- earlyState{st, err}
	}()
	return e
}

// state is what the store holds: as read early, or read now if the guess was
// wrong or the reading failed.
func (e earlyRead) state(ctx context.Context, s store.Store) (*state.State, error) {
	if f, ok := s.(*file.Store); ok && e.path != "" && f.Path() == e.path {
		if got := <-e.done; got.err == nil {
			return got.st, nil
		}
	}
	return s.Read(ctx)
}
