package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func stateMvCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state mv", Args: "FROM TO", Short: "give a record another address", MinArgs: 2, MaxArgs: 2,
		Long: `Gives a job's record another address; its files stay in place. It also prints the moved block that does the same in the
campaign, where it can be reviewed: prefer that.`,
		Examples: []command.Example{{`muster state mv -dry-run 'phase.a["N=1"]' 'phase.b["N=1"]'`, "only show the change"}, {"muster state mv phase.plot phase.figure", "a phase without a grid"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			dry := fs.Bool("dry-run", false, "change nothing")
			asJSON := fs.Bool("json", false, "print the change as JSON")
			return func(ctx context.Context, args []string) error {
				return a.stateMv(ctx, v, *dry, *asJSON, args[0], args[1])
			}
		},
	}
}

func (a *app) stateMv(ctx context.Context, v varFlags, dry, asJSON bool, from, to string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	target, err := addr.Parse(to)
	if err != nil {
		return command.Usagef("%s", err)
	}
	j := st.Job(from)
	switch {
	case j == nil:
		return command.Usagef("the state has no record at %s; muster state list shows what it has", from)
	case j.InFlight():
		return command.Usagef("%s is %s: the record can be moved when the job has ended", from, j.Status)
	case st.Job(target.String()) != nil && st.Job(target.String()).Status != state.Forgotten:
		return command.Usagef("%s has a record already", target)
	}
	if !dry {
		pairs, err := addr.ParseKey(target.Key)
		if err != nil {
			return command.Usagef("%s", err)
		}
		axes := map[string]string{}
		for _, p := range pairs {
			axes[p.Axis] = p.Text
		}
		err = a.change(ctx, c, "state mv", func(s store.Session) error {
			return s.Append(state.MovedJob{From: from, To: target.String(), Axes: axes, Job: &state.Job{Address: target.String(), Phase: target.Phase, Axes: state.TextsOf(axes)}, At: a.now()})
		})
		if err != nil {
			return err
		}
	}
	if asJSON {
		return a.encode(map[string]any{"format_version": page.FormatVersion, "from": from, "to": target.String(), "dry_run": dry})
	}
	a.printf("%s → %s\n\nThe same in the campaign, for review:\n\n    moved {\n      from = %s\n      to   = %s\n    }\n", from, target, from, target)
	return nil
}

func stateRmCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state rm", Args: "ADDR…", Short: "remove records of jobs; their files stay", MinArgs: 1, MaxArgs: -1,
		Long:     "Removes the records of the jobs that the addresses select. Their files stay; the next apply runs the jobs again.",
		Examples: []command.Example{{"muster state rm -dry-run seed=42", "only show the records"}, {"muster state rm phase.figure", "one job"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			dry := fs.Bool("dry-run", false, "change nothing")
			asJSON := fs.Bool("json", false, "print the removed records as JSON")
			return func(ctx context.Context, args []string) error {
				return a.stateRm(ctx, v, *dry, *asJSON, args)
			}
		},
		Complete: a.jobAddresses,
	}
}

func (a *app) stateRm(ctx context.Context, v varFlags, dry, asJSON bool, args []string) error {
	c, st, s, err := a.openFor(ctx, v, args)
	if err != nil {
		return err
	}
	var events []state.Event
	forgotten := []string{}
	for _, key := range st.Remembered() {
		j := st.Recalled(key)
		if !s.Has(j.Address) {
			continue
		}
		if j.InFlight() {
			return command.Usagef("%s is %s: cancel it first (muster cancel), or it would keep running without a record", key, j.Status)
		}
		events = append(events, state.Forgot{Address: key, Hard: true, At: a.now()})
		forgotten = append(forgotten, key)
	}
	if !dry && len(events) > 0 {
		if err := a.change(ctx, c, "state rm", func(s store.Session) error { return s.Append(events...) }); err != nil {
			return err
		}
	}
	if asJSON {
		return a.encode(map[string]any{"format_version": page.FormatVersion, "forgotten": forgotten, "dry_run": dry})
	}
	for _, key := range forgotten {
		a.printf("- forget %s\n", term.CleanLine(key))
	}
	switch {
	case len(forgotten) == 0:
		a.printf("The state has no record of the selected jobs.\n")
	case dry:
		a.printf("%s would be forgotten; nothing was changed.\n", units.Count(len(forgotten), "record"))
	}
	return nil
}
