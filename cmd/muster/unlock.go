package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
)

func forceUnlockCommand(a *app) *command.Command {
	return &command.Command{
		Name: "force-unlock", Args: "ID", Short: "remove the state lock of a process that is gone", MinArgs: 1, MaxArgs: 1,
		Long: `Removes the state lock with the given id, which the message about the lock shows. If its holder is alive after all, it is
fenced out: it can write nothing more, and backends refuse its calls.`,
		Examples: []command.Example{{"muster force-unlock 5f0c1d2e", "after a machine died"}, {"muster force-unlock -force 5f0c1d2e", "without being asked"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			force := fs.Bool("force", false, "do not ask")
			return func(ctx context.Context, args []string) error {
				_, s, err := a.openStore(v)
				if err != nil {
					return err
				}
				h, err := s.Holder(ctx)
				holds := err != nil || h != nil && h.Lease.ID == args[0] // else there is nothing to ask: it is refused
				if holds && !*force {
					yes, err := a.ask("Clear the lock " + args[0] + "? Its holder can write nothing more. Only \"yes\" is accepted: ")
					if err != nil {
						return err
					}
					if !yes {
						a.printf("The lock stays.\n")
						return command.Failed
					}
				}
				if err := s.ForceUnlock(ctx, args[0]); err != nil {
					return err
				}
				a.printf("The lock is cleared.\n")
				return nil
			}
		},
	}
}
