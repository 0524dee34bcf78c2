package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
)

func showCommand(a *app) *command.Command {
	return &command.Command{
		Name: "show", Args: "[FILE]", Short: "print a saved plan, or the status without a file", MaxArgs: 1,
		Long:     "Prints a saved plan as it was reviewed. It asks no backend and starts no provider. Without a file it shows the status.",
		Examples: []command.Example{{"muster show paper.mplan", "the saved plan"}, {"muster show -jsonl paper.mplan", "one JSON object a job, for tools"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as one JSON document")
			asLines := fs.Bool("jsonl", false, "print one JSON object a job")
			verbose := fs.Bool("verbose", false, "show every job")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return a.status(ctx, v, statusOptions{json: *asJSON, verbose: *verbose}, nil)
				}
				file, err := planfile.Read(absolute(args[0]))
				if err != nil {
					return err
				}
				switch {
				case *asLines:
					return file.WriteJSONL(a.stdout)
				case *asJSON:
					return file.WriteJSON(a.stdout, nil)
				}
				return a.showSaved(file, v, *verbose)
			}
		},
	}
}

// showSaved prints a saved plan for people. It needs the campaign it was made
// from for the names of jobs; when that has changed, it says so.
func (a *app) showSaved(file *planfile.File, v varFlags, verbose bool) error {
	c, err := a.lookLoad(v)
	if err != nil {
		return err
	}
	plan, diags := file.Bind(c)
	if err := a.report(diags); err != nil {
		return err
	}
	a.printf("\n")
	return view.Human{Style: a.out, Verbose: verbose}.Print(a.stdout, plan)
}
