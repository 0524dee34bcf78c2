package main

import (
	"context"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// openStore loads the campaign and opens its state store.
func (ws *workspace) openStore(v varFlags) (*lang.Campaign, store.Store, error) {
	c, err := ws.lookLoad(v)
	if err != nil {
		return nil, nil, err
	}
	s, err := ws.store(c)
	return c, s, err
}

// open loads the campaign and reads its state, as most commands begin.
func (ws *workspace) open(ctx context.Context, v varFlags) (*lang.Campaign, *state.State, error) {
	c, s, err := ws.openStore(v)
	if err != nil {
		return nil, nil, err
	}
	st, err := s.Read(ctx)
	if err == nil {
		refresh.Rehome(c, st, ws.guard.Reads)
		st = history.MovedOf(c.Moved).Renames().View(st)
	}
	return c, st, err
}

// openFor is open for a command about the jobs that addresses select.
func (ws *workspace) openFor(ctx context.Context, v varFlags, args []string) (*lang.Campaign, *state.State, selection.Jobs, error) {
	c, st, err := ws.open(ctx, v)
	if err != nil {
		return nil, nil, selection.Jobs{}, err
	}
	s, err := ws.choose(c, st, args)
	return c, st, s, err
}

// change takes the lease, lets fn append events, and folds them in.
func (ws *workspace) change(ctx context.Context, c *lang.Campaign, purpose string, fn func(store.Session) error) error {
	s, err := ws.storeTo(c, true)
	if err != nil {
		return err
	}
	session, err := ws.session(ctx, s, purpose, 0)
	if err != nil {
		return err
	}
	err = fn(session)
	if err == nil {
		err = session.Sync(ctx)
	}
	if closeErr := session.Close(context.WithoutCancel(ctx)); err == nil {
		err = closeErr
	}
	return err
}
