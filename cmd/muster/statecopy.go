package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/muster-run/muster/cmd/muster/command"
)

func statePullCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state pull", Short: "print the state as JSON", MaxArgs: 0,
		Long:     "Prints the snapshot with all later events applied, as state push reads it.",
		Examples: []command.Example{{"muster state pull", "look at it with jq"}, {"muster state pull", "keep a copy: muster state pull > copy.json"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			return func(ctx context.Context, _ []string) error {
				_, s, err := a.openStore(v)
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

func statePushCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state push", Args: "FILE|-", Short: "replace the state with a file", MinArgs: 1, MaxArgs: 1,
		Long: `Replaces the state with the output of state pull. The lineage must be the same and the serial not smaller; -force skips both
checks. The old snapshot stays as .backup.`,
		Examples: []command.Example{{"muster state push copy.json", "after fixing it by hand"}, {"muster state push -force copy.json", "a state of another lineage"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			force := fs.Bool("force", false, "push even if lineage or serial do not match")
			return func(ctx context.Context, args []string) error {
				_, s, err := a.openStore(v)
				if err != nil {
					return err
				}
				var b []byte
				if args[0] == "-" {
					b, err = io.ReadAll(a.stdin)
				} else {
					b, err = os.ReadFile(absolute(args[0]))
				}
				if err != nil {
					return fmt.Errorf("read %s: %w", args[0], err)
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
