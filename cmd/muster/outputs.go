package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func outputsCommand(a *app) *command.Command {
	return &command.Command{
		Name: "outputs", Args: "[ADDR…]", Short: "list declared outputs, metrics and results", MaxArgs: -1,
		Long: `Lists the verified outputs of completed jobs with their sizes and digests, their metrics, and the campaign's results.
-raw NAME prints one result as plain text, for scripts.`,
		Examples: []command.Example{{"muster outputs", "everything there is"}, {"muster outputs -raw best_loss", "one result, for a script"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			raw := fs.String("raw", "", "print only the result `NAME`, as text")
			return func(ctx context.Context, args []string) error {
				c, st, s, err := a.openFor(ctx, v, args)
				if err != nil {
					return err
				}
				r := page.OutputsOf(c, st, s)
				switch {
				case *raw != "":
					text, err := r.Raw(*raw)
					if err != nil {
						return err
					}
					a.printf("%s\n", text)
					return nil
				case *asJSON:
					return a.encode(r)
				}
				a.printf("%s", r.Text(a.out.Row))
				return nil
			}
		},
		Complete: a.jobAddresses,
	}
}
