package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func stateHistoryCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state history", Args: "[ADDR…]", Short: "print all events", MaxArgs: -1,
		Long:     "Prints every event of the state, oldest first: launches, holds, approvals and their reasons.",
		Examples: []command.Example{{"muster state history", "everything"}, {"muster state history -json seed=42", "one seed, for a script"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print one JSON object a line")
			return func(ctx context.Context, args []string) error { return a.stateHistory(ctx, v, *asJSON, args) }
		},
		Complete: a.jobAddresses,
	}
}

func (a *app) stateHistory(ctx context.Context, v varFlags, asJSON bool, args []string) error {
	c, _, jobs, err := a.openFor(ctx, v, args)
	if err != nil {
		return err
	}
	s, err := a.store(c)
	if err != nil {
		return err
	}
	enc := a.encoder()
	var failed error
	err = s.History(ctx, func(r store.Record) bool {
		address := strings.TrimPrefix(state.EventAddress(r.Event), "smoke.")
		if !jobs.Has(address) {
			return true
		}
		if asJSON {
			failed = enc.Encode(map[string]any{"format_version": page.FormatVersion, "fence": r.Fence, "seq": r.Seq, "at": r.At, "kind": r.Event.Kind(), "event": r.Event})
		} else {
			line := fmt.Sprintf("%s  %-14s %s", units.FormatSecond(r.At.Local()), r.Event.Kind(), term.CleanLine(page.EventText(r.Event)))
			if a.out.Row > 0 {
				line = term.FitMiddle(line, a.out.Row)
			}
			a.printf("%s\n", line)
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
