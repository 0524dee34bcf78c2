package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func stateHistoryCommand() *command {
	return &command{
		name: "state history", args: "[ADDR…]", short: "what happened, event by event", maxArgs: -1,
		long:     "Prints every event the state was folded from, oldest first: why something ran again, who held it, what was approved.",
		examples: []example{{"muster state history", "everything"}, {"muster state history -json seed=42", "one seed, for a script"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print one JSON object a line")
			return func(ctx context.Context, a *app, args []string) error { return a.stateHistory(ctx, v, *asJSON, args) }
		},
		complete: jobAddresses,
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
			failed = enc.Encode(map[string]any{"format_version": formatVersion, "fence": r.Fence, "seq": r.Seq, "at": r.At, "kind": r.Event.Kind(), "event": r.Event})
		} else {
			a.printf("%s  %-14s %s\n", r.At.Local().Format(time.DateTime), r.Event.Kind(), term.CleanLine(historyText(r.Event)))
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// historyText is an event in one line.
func historyText(e state.Event) string {
	switch e := e.(type) {
	case state.Intended:
		return fmt.Sprintf("%s attempt %d on %s", e.Job.Address, e.Attempt.N, e.Attempt.Backend)
	case state.Observed:
		s := fmt.Sprintf("%s attempt %d %s", e.Address, e.Attempt.N, e.Status)
		if e.Attempt.Class != "" {
			s += " (" + e.Attempt.Class + ")"
		}
		if e.Reason != "" {
			s += ": " + e.Reason
		}
		return s
	case state.HeldJob:
		return fmt.Sprintf("%s by %s: %s", e.Address, e.By, e.Reason)
	case state.MovedJob:
		return e.From + " → " + e.To
	case state.Approved:
		return fmt.Sprintf("plan %s by %s", e.Plan, e.Who)
	case state.Finished:
		return fmt.Sprintf("plan %s: %s", e.Plan, e.Outcome)
	case state.Validated:
		if e.Passed {
			return e.Address + " passed"
		}
		return e.Address + " failed: " + e.Message
	case state.Overrode:
		return fmt.Sprintf("%s by %s: %s", e.Address, e.Who, e.Reason)
	case state.HoldSet:
		return fmt.Sprintf("%s by %s%s", orEverything(e.Address), e.Who, because(e.Reason))
	case state.HoldClear:
		return fmt.Sprintf("%s by %s", orEverything(e.Address), e.By)
	case state.Paused:
		return fmt.Sprintf("backend.%s: %s", e.Backend, e.Reason)
	case state.Unpaused:
		return "backend." + e.Backend
	case state.BreakerOpened:
		return fmt.Sprintf("phase.%s: %s", e.Phase, e.Reason)
	}
	return state.EventAddress(e)
}

func orEverything(address string) string {
	if address == "" {
		return "everything"
	}
	return address
}
