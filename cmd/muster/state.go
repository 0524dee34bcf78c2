package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func stateCommands() []*command {
	return []*command{stateListCommand(), stateShowCommand(), stateMvCommand(), stateRmCommand(), statePullCommand(), statePushCommand(), stateHistoryCommand()}
}

func stateListCommand() *command {
	return &command{
		name: "state list", args: "[ADDR…]", short: "addresses the state remembers, one a line", maxArgs: -1,
		long:     "Lists every job the state remembers, also those the campaign no longer wants.",
		examples: []example{{"muster state list", "everything"}, {"muster state list -status=failed", "only what failed"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			status := fs.String("status", "", "only jobs with this `STATUS`: completed, running, failed, held, …")
			return func(ctx context.Context, a *app, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				s, err := a.choose(c, st, args)
				if err != nil {
					return err
				}
				listed := []listedJob{}
				for _, key := range st.Addresses() {
					j := st.Jobs[key]
					if s.has(j.Address) && (*status == "" || string(j.Status) == *status) {
						listed = append(listed, listedJob{key, j.Status})
					}
				}
				if *asJSON {
					return json.NewEncoder(a.stdout).Encode(map[string]any{"format_version": "1.0", "jobs": listed})
				}
				for _, j := range listed {
					a.printf("%s\n", term.CleanLine(j.Address))
				}
				return nil
			}
		},
	}
}

// A listedJob is one job in `muster state list -json`.
type listedJob struct {
	Address string       `json:"address"`
	Status  state.Status `json:"status"`
}

func stateShowCommand() *command {
	return &command{
		name: "state show", args: "ADDR", short: "what the state remembers of one job", minArgs: 1, maxArgs: 1,
		long:     "Prints a job's record: its hashes, attempts, outputs, metrics. A unique suffix such as seed=42 is enough.",
		examples: []example{{"muster state show seed=42,N=384", "one job"}, {"muster state show phase.figure", "a phase without a grid"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			return func(ctx context.Context, a *app, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				j := st.Job(args[0])
				if j == nil {
					address, err := a.chooseOne(c, st, args[0])
					if err != nil {
						return err
					}
					if j = st.Job(address); j == nil {
						return usagef("%s was never attempted: the state knows nothing of it", address)
					}
				}
				enc := json.NewEncoder(a.stdout)
				enc.SetIndent("", "  ")
				enc.SetEscapeHTML(false)
				return enc.Encode(j)
			}
		},
		complete: jobAddresses,
	}
}

func stateMvCommand() *command {
	return &command{
		name: "state mv", args: "FROM TO", short: "give a record another address", minArgs: 2, maxArgs: 2,
		long: `Gives a job's record another address; its files stay where they are. It prints the moved block that says the same in the
campaign, where it can be reviewed: prefer that.`,
		examples: []example{{`muster state mv -dry-run 'phase.a["N=1"]' 'phase.b["N=1"]'`, "only say what would be done"}, {"muster state mv phase.plot phase.figure", "a phase without a grid"}},
		exits:    []int{exitLocked},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			dry := fs.Bool("dry-run", false, "change nothing")
			return func(ctx context.Context, a *app, args []string) error {
				return a.stateMv(ctx, v, *dry, args[0], args[1])
			}
		},
	}
}

func (a *app) stateMv(ctx context.Context, v varFlags, dry bool, from, to string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	target, err := addr.Parse(to)
	if err != nil {
		return usageError{err.Error()}
	}
	j := st.Job(from)
	switch {
	case j == nil:
		return usagef("the state has no record at %s; muster state list shows what it has", from)
	case j.InFlight():
		return usagef("%s is %s: a record is moved when its job rests", from, j.Status)
	case st.Job(target.String()) != nil && st.Job(target.String()).Status != state.Forgotten:
		return usagef("%s has a record already", target)
	}
	if !dry {
		pairs, err := addr.ParseKey(target.Key)
		if err != nil {
			return usageError{err.Error()}
		}
		axes := map[string]string{}
		for _, p := range pairs {
			axes[p.Axis] = p.Text
		}
		err = a.change(ctx, c, "state mv", func(s store.Session) error {
			return s.Append(state.MovedJob{From: from, To: target.String(), Axes: axes, Job: &state.Job{Address: target.String(), Phase: target.Phase, Axes: axes}, At: a.now()})
		})
		if err != nil {
			return err
		}
	}
	a.printf("%s → %s\n\nThe same in the campaign, for review:\n\n    moved {\n      from = %s\n      to   = %s\n    }\n", from, target, from, target)
	return nil
}

func stateRmCommand() *command {
	return &command{
		name: "state rm", args: "ADDR…", short: "forget jobs; their files stay", minArgs: 1, maxArgs: -1,
		long:     "Forgets the records of the jobs that the addresses select. Files stay; the jobs would run again in the next apply.",
		examples: []example{{"muster state rm -dry-run seed=42", "only say what would be forgotten"}, {"muster state rm phase.figure", "one job"}},
		exits:    []int{exitLocked},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			dry := fs.Bool("dry-run", false, "change nothing")
			return func(ctx context.Context, a *app, args []string) error { return a.stateRm(ctx, v, *dry, args) }
		},
	}
}

func (a *app) stateRm(ctx context.Context, v varFlags, dry bool, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	s, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	var events []state.Event
	for _, key := range st.Addresses() {
		j := st.Jobs[key]
		if !s.jobs[j.Address] {
			continue
		}
		if j.InFlight() {
			return usagef("%s is %s: cancel it first (muster cancel), or it would go on unknown to anybody", key, j.Status)
		}
		events = append(events, state.Forgot{Address: key, Hard: true, At: a.now()})
		a.printf("- forget %s\n", term.CleanLine(key))
	}
	if dry || len(events) == 0 {
		a.printf("%s would be forgotten; nothing was changed.\n", plural(len(events), "record"))
		return nil
	}
	return a.change(ctx, c, "state rm", func(s store.Session) error { return s.Append(events...) })
}

func statePullCommand() *command {
	return &command{
		name: "state pull", short: "print the state as JSON", maxArgs: 0,
		long:     "Prints the snapshot with everything since folded in: the form that state push takes.",
		examples: []example{{"muster state pull", "look at it with jq"}, {"muster state pull", "keep a copy: muster state pull > copy.json"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			return func(ctx context.Context, a *app, _ []string) error {
				c, err := a.mustLoad(v)
				if err != nil {
					return err
				}
				s, err := a.store(c)
				if err != nil {
					return err
				}
				b, err := s.Pull(ctx)
				if err != nil {
					return err
				}
				_, err = a.stdout.Write(b)
				return err
			}
		},
	}
}

func statePushCommand() *command {
	return &command{
		name: "state push", args: "FILE|-", short: "replace the state by a file", minArgs: 1, maxArgs: 1,
		long: `Replaces the state by what state pull printed. The lineage must be the same and the serial not smaller; -force skips both
checks. The old snapshot stays as .backup.`,
		examples: []example{{"muster state push copy.json", "after mending it by hand"}, {"muster state push -force copy.json", "a state of another lineage"}},
		exits:    []int{exitLocked},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			force := fs.Bool("force", false, "also when lineage or serial do not fit")
			return func(ctx context.Context, a *app, args []string) error {
				c, err := a.mustLoad(v)
				if err != nil {
					return err
				}
				var b []byte
				if args[0] == "-" {
					b, err = io.ReadAll(a.stdin)
				} else {
					b, err = os.ReadFile(a.path(args[0]))
				}
				if err != nil {
					return fmt.Errorf("read %s: %w", args[0], err)
				}
				s, err := a.store(c)
				if err != nil {
					return err
				}
				if err := s.Push(ctx, b, *force); err != nil {
					return err
				}
				a.printf("The state is replaced; the old one stays beside it as .backup.\n")
				return nil
			}
		},
	}
}

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
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	chosen, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	s, err := a.store(c)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	var failed error
	err = s.History(ctx, func(r store.Record) bool {
		address := strings.TrimPrefix(state.EventAddress(r.Event), "smoke.")
		if len(args) > 0 && !chosen.jobs[address] {
			return true
		}
		if asJSON {
			failed = enc.Encode(map[string]any{"fence": r.Fence, "seq": r.Seq, "at": r.At, "kind": r.Event.Kind(), "event": r.Event})
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
