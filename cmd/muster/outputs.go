package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/page"
)

func outputsCommand() *command {
	return &command{
		name: "outputs", args: "[ADDR…]", short: "declared outputs, metrics and results", maxArgs: -1,
		long: `Lists the verified outputs of completed jobs with their sizes and digests, their metrics, and the campaign's results.
-raw NAME prints one result as plain text, for scripts.`,
		examples: []example{{"muster outputs", "everything there is"}, {"muster outputs -raw best_loss", "one result, for a script"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			raw := fs.String("raw", "", "print only the result `NAME`, as text")
			return func(ctx context.Context, a *app, args []string) error {
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
				a.printf("%s", r.Text())
				return nil
			}
		},
		complete: jobAddresses,
	}
}
