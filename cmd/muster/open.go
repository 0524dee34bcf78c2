package main

import (
	"context"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// open loads the campaign and reads its state, as most commands begin.
func (a *app) open(ctx context.Context, v varFlags) (*lang.Campaign, *state.State, error) {
	c, err := a.mustLoad(v)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.store(c)
	if err != nil {
		return nil, nil, err
	}
	st, err := s.Read(ctx)
	return c, st, err
}

// change takes the lease, lets fn append events, and folds them in.
func (a *app) change(ctx context.Context, c *lang.Campaign, purpose string, fn func(store.Session) error) error {
	s, err := a.store(c)
	if err != nil {
		return err
	}
	session, err := a.session(ctx, s, purpose, 0)
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
