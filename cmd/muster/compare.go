package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store/file"
)

// compare shows what jobs would be done differently than in another run: the plan that
// this campaign would have if that run's state were its own.
func (a *app) compare(ctx context.Context, p planFlags, run string, asJSON bool) error {
	c, err := a.lookLoad(p.varFlags)
	if err != nil {
		return err
	}
	other, err := stateOf(ctx, absolute(run))
	if err != nil {
		return err
	}
	p.refresh, p.glance = false, false
	w, err := a.planWith(ctx, c, completedOf(other), p)
	if w == nil || w.plan == nil {
		return err
	}
	defer w.close()
	compared := page.CompareOf(c.Name, run, other, w.plan)
	if asJSON {
		return a.encode(compared)
	}
	a.printf("%s", compared.Text(a.out.Width))
	return nil
}

// stateOf reads the state of another run: a file, or the one in a campaign's folder.
func stateOf(ctx context.Context, path string) (*state.State, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, command.Usagef("-compare: there is no file or folder %s", path)
	}
	if info.IsDir() {
		path = filepath.Join(path, file.DefaultName)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, command.Usagef("-compare: there is no state %s", path)
	}
	s, err := file.Open(path, file.Options{})
	if err != nil {
		return nil, fmt.Errorf("read the state of the other run: %w", err)
	}
	return s.Read(ctx)
}

// completedOf is a state with the completed jobs of another, and nothing that keeps jobs
// from running.
func completedOf(other *state.State) *state.State {
	st := state.New(other.Campaign)
	st.Lineage, st.Definitions = other.Lineage, other.Definitions
	for _, j := range other.All() {
		if j.Status == state.Completed {
			st.Jobs[j.Key()] = j
		}
	}
	return st
}
