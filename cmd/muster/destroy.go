package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
)

func destroyCommand(a *app) *command.Command {
	return &command.Command{
		Name: "destroy", Short: "cancel and release everything, after a plan and your approval", MaxArgs: 0,
		Long: `Plans to cancel all running and waiting jobs and to release rented machines, shows the plan and asks. Results stay in place;
-outputs deletes declared outputs, too.`,
		Examples: []command.Example{{"muster destroy", "stop everything this campaign started"}, {"muster destroy -auto-approve -allow-cancel", "without being asked"}},
		Exits:    []command.Exit{command.Held, command.Locked, command.Interrupted},
		Setup: func(fs *flag.FlagSet) command.Action {
			var f applyFlags
			f.varFlags.register(fs)
			f.registerRelease(fs)
			f.refresh, f.destroy = true, true
			fs.BoolVar(&f.autoApprove, "auto-approve", false, "do not ask")
			fs.BoolVar(&f.allowCancel, "allow-cancel", false, "with -auto-approve: running work may be cancelled")
			fs.BoolVar(&f.outputs, "outputs", false, "delete declared outputs, too")
			fs.BoolVar(&f.json, "json", false, "print events, one JSON object a line; needs -auto-approve")
			fs.DurationVar(&f.lockTimeout, "lock-timeout", 0, "wait this long for the state lock (`DURATION`)")
			return func(ctx context.Context, _ []string) error {
				if err := f.check(nil); err != nil {
					return err
				}
				return a.apply(ctx, f, nil)
			}
		},
	}
}
