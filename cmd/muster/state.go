package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/state"
)

func stateCommands(a *app) []*command.Command {
	return []*command.Command{stateListCommand(a), stateShowCommand(a), stateMvCommand(a), stateRmCommand(a), statePullCommand(a), statePushCommand(a), stateHistoryCommand(a)}
}

func stateListCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state list", Args: "[ADDR…]", Short: "list the addresses in the state, one a line", MaxArgs: -1,
		Long:     "Lists every job in the state, including jobs that the campaign no longer has.",
		Examples: []command.Example{{"muster state list", "everything"}, {"muster state list -status=failed", "only failed jobs"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			status := fs.String("status", "", "only jobs with this `STATUS`: completed, running, failed, held, pending (free again), …")
			return func(ctx context.Context, args []string) error {
				_, st, s, err := a.openFor(ctx, v, args)
				if err != nil {
					return err
				}
				listed := []listedJob{}
				for _, key := range st.Remembered() {
					j := st.Recalled(key)
					if s.Has(j.Address) && (*status == "" || string(j.Status) == *status) {
						listed = append(listed, listedJob{key, j.Status})
					}
				}
				if *asJSON {
					return a.encode(map[string]any{"format_version": page.FormatVersion, "jobs": listed})
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

// A shownJob is the output of `muster state show`.
type shownJob struct {
	state.Job
	Earlier []state.Attempt `json:"earlier,omitempty"`
}

func stateShowCommand(a *app) *command.Command {
	return &command.Command{
		Name: "state show", Args: "ADDR", Short: "print the record of one job", MinArgs: 1, MaxArgs: 1,
		Long: `Prints a job's record: its hashes, attempts, outputs, metrics. A unique suffix such as seed=42 is enough. Attempts from before
a muster resume, or of an earlier definition of the job, are under earlier; a job with only such attempts is pending.`,
		Examples: []command.Example{{"muster state show seed=42,N=384", "one job"}, {"muster state show phase.figure", "a phase without a grid"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			fs.Bool("json", true, "print as JSON, which it always does")
			return func(ctx context.Context, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				j := st.Recalled(args[0])
				if j == nil {
					address, err := a.chooseOne(c, st, args[0])
					if err != nil {
						return err
					}
					if j = st.Recalled(address); j == nil {
						return command.Usagef("the state has no record of %s: it was never attempted", address)
					}
				}
				earlier := len(st.Earlier[j.Key()])
				shown := shownJob{Job: *j, Earlier: j.Attempts[:earlier]}
				shown.Attempts = j.Attempts[earlier:]
				enc := a.encoder()
				enc.SetIndent("", "  ")
				return enc.Encode(shown)
			}
		},
		Complete: a.jobAddresses,
	}
}
