package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state/store"
)

func waitCommand(a *app) *command.Command {
	return &command.Command{
		Name: "wait", Args: "[ADDR…]", Short: "wait until jobs are done, one failed, or nothing runs", MaxArgs: -1,
		Long: `Waits for all jobs, or for those that the addresses select. Its exit code is 0 if all are done, 3 if one failed or is held,
blocked or cancelled, or if the rest needs muster apply. -for=done ends when all are done or no more can finish; -for=failed
also at the first failure; -for=idle when no job runs or is queued, with 0 even if work remains.

It reads the state, and asks the backends while no muster apply runs. It takes no lock and starts nothing. An interrupt or a time-out
ends only the wait. It prints a line when counts change, and at least every ten minutes.`,
		Examples: []command.Example{
			{"muster wait && muster pull", "copy the results when all are done"},
			{"muster wait -for=failed -timeout=8h phase.train", "wait for the first failure, for a night at most"},
		},
		Exits: []command.Exit{command.Held, command.TimedOut, command.Interrupted},
		Setup: func(fs *flag.FlagSet) command.Action {
			w := waiting{app: a}
			w.v.register(fs)
			fs.StringVar(&w.goal, "for", "done", "wait for `GOAL`: done, failed or idle")
			fs.DurationVar(&w.timeout, "timeout", 0, "wait at most `DURATION`, such as 90m or 8h; without it, for as long as it takes")
			fs.BoolVar(&w.json, "json", false, "print the result as JSON")
			return w.run
		},
		Complete: a.jobAddresses,
	}
}

type waiting struct {
	*app
	v       varFlags
	goal    string
	timeout time.Duration
	json    bool
}

// A wait looks more often in its first minutes. Backends are asked at least every two
// minutes, as a person would.
const (
	slowestRead = 15 * time.Second
	slowestLook = 2 * time.Minute
	waitLine    = 10 * time.Minute // the longest silence
)

func (w *waiting) run(ctx context.Context, args []string) error {
	if !slices.Contains(page.Goals, w.goal) {
		return command.Usagef("-for is one of %s, not %q", strings.Join(page.Goals, ", "), w.goal)
	}
	if w.timeout < 0 {
		return command.Usagef("-timeout is a time to wait, not %s", w.timeout)
	}
	c, _, jobs, err := w.openFor(ctx, w.v, args)
	if err != nil {
		return err
	}
	s, err := w.store(c)
	if err != nil {
		return err
	}
	began := time.Now()
	var over <-chan time.Time
	if w.timeout > 0 {
		over = time.After(w.timeout)
	}
	l := looker{a: w.app}
	defer l.close()
	said := saidLine{}
	for {
		waited := time.Since(began)
		l.every = min(max(waited/10, lookEvery), slowestLook)
		now, err := w.look(ctx, c, s, jobs, &l)
		if ctx.Err() != nil {
			return command.Interrupted
		}
		if err != nil {
			return err
		}
		if now.Ended != page.Waits {
			return w.end(now, waited)
		}
		if said.due(now.Line(), waited) {
			w.notef("%s\n", term.CleanLine(fmt.Sprintf("%s (waited %s)", now.Line(), units.FormatDuration(waited.Round(time.Second)))))
		}
		select {
		case <-ctx.Done():
			return command.Interrupted
		case <-over:
			now.Ended = page.TimedOut
			return w.end(now, time.Since(began))
		case <-time.After(min(max(waited/10, watchEvery/2), slowestRead)):
		}
	}
}

// look reads the state, and asks the backends where no other muster brings it up to date.
func (w *waiting) look(ctx context.Context, c *lang.Campaign, s store.Store, jobs selection.Jobs, l *looker) (page.Waited, error) {
	holder, err := s.Holder(ctx)
	if err != nil {
		return page.Waited{}, err
	}
	st, err := s.Read(ctx)
	if err != nil {
		return page.Waited{}, err
	}
	var seen page.Seen
	driven := holder != nil && !holder.Gone()
	if !driven && st.Lineage != "" {
		seen = l.look(ctx, c, st)
	}
	return page.WaitedFor(page.StatusOf(c, st, jobs, seen, w.now()), w.goal, driven), nil
}

func (w *waiting) end(now page.Waited, waited time.Duration) error {
	now.Seconds = waited.Seconds()
	if w.json {
		if err := w.encode(now); err != nil {
			return err
		}
	} else {
		w.printf("%s\n", now.Text())
	}
	switch {
	case now.Ended == page.TimedOut:
		return command.TimedOut
	case now.Ended == page.Failing, now.Ended == page.Left && w.goal != "idle":
		return command.Held
	}
	return nil
}

// A saidLine is the last line of a wait, and when it was printed.
type saidLine struct {
	text string
	at   time.Duration
}

// due reports whether a line is to be printed at a time since the wait began, and takes
// it as printed.
func (s *saidLine) due(text string, at time.Duration) bool {
	if text == s.text && at+slowestRead < s.at+waitLine {
		return false
	}
	s.text, s.at = text, at
	return true
}
