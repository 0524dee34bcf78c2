package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/planner/apply/site"
)

func statusCommand(a *app) *command.Command {
	return &command.Command{
		Name: "status", Args: "[ADDR…]", Short: "show phases and jobs at a glance", MaxArgs: -1,
		Long: `Shows the progress of each phase, the running jobs, and the jobs that need you. It reads the state and takes no lock; -refresh asks
the backends first, without recording their answers.`,
		Examples: []command.Example{{"muster status", "the campaign at a glance"}, {"muster status -refresh seed=42", "ask the backends, show the jobs of one seed"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			o := statusOptions{}
			fs.BoolVar(&o.refresh, "refresh", false, "ask the backends")
			fs.BoolVar(&o.watch, "watch", false, "refresh every two seconds until no job runs or waits, and ask the backends now and then")
			fs.BoolVar(&o.json, "json", false, "print as JSON")
			fs.BoolVar(&o.verbose, "verbose", false, "show every job")
			return func(ctx context.Context, args []string) error { return a.status(ctx, v, o, args) }
		},
		Complete: a.jobAddresses,
	}
}

type statusOptions struct{ refresh, watch, json, verbose bool }

// -watch reads the state at every turn, and asks the backends less often: a
// campaign that was detached moves on without anybody writing its state.
const (
	watchEvery = 2 * time.Second
	lookEvery  = 10 * time.Second
)

func (a *app) status(ctx context.Context, v varFlags, o statusOptions, args []string) error {
	l := looker{a: a, once: !o.watch, every: lookEvery}
	defer l.close()
	for {
		view, gone, err := a.statusView(ctx, v, o, args, &l)
		if err != nil {
			return err
		}
		if o.json {
			err = a.encode(view)
		} else {
			if o.watch && a.out.TTY {
				io.WriteString(a.stdout, "\x1b[H\x1b[2J")
			}
			a.printf("%s", view.Text(a.out, a.now(), o.verbose || len(args) > 0))
		}
		gone() // below the page, which may clear the screen
		if err != nil || !o.watch || view.Active == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// statusView is the page, and names the writer of the state if it is gone: jobs
// that run by the state may have ended since.
func (a *app) statusView(ctx context.Context, v varFlags, o statusOptions, args []string, l *looker) (page.Status, func(), error) {
	c, st, jobs, err := a.openFor(ctx, v, args)
	if err != nil {
		return page.Status{}, nil, err
	}
	s, err := a.store(c)
	if err != nil {
		return page.Status{}, nil, err
	}
	var seen page.Seen
	if o.refresh || o.watch {
		seen = l.look(ctx, c, st)
	}
	view := page.StatusOf(c, st, jobs, seen, a.now())
	var dirs []string
	for _, b := range c.Backends {
		if dir := site.Workdir(c, b); b.Type == "local" && filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	view.Replaced = page.ReplacedIn(dirs)
	return view, func() {
		a.noteGone(ctx, s)
		if h, err := s.Holder(ctx); err == nil && h == nil && view.Active > 0 && !o.refresh && !o.watch && !o.json {
			a.notef("No muster follows these jobs now. `muster status -refresh` asks their backends.\n")
		}
	}, nil
}
