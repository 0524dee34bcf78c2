package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/internal/term"
)

func pullCommand(a *app) *command.Command {
	return &command.Command{
		Name: "pull", Args: "[ADDR…]", Short: "copy outputs here and verify their digests", MaxArgs: -1,
		Long: `Copies the outputs of completed jobs into -to, resumes broken transfers, and compares every digest with the recorded one.
It does not copy files again that are there already with the right digest.
Every minute it reports its progress: the share, the rate and the time left.
If a backend bills for files that leave it (usd_per_gb_out), it shows that cost, which enters neither ledger nor budgets.`,
		Examples: []command.Example{{"muster pull -to=results", "everything"}, {"muster pull -to=results phase.figure", "only the figure"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			to := fs.String("to", "outputs", "`DIR` to copy into; the paths below the workdir are kept")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, args []string) error {
				return a.pull(ctx, v, absolute(*to), *asJSON, args)
			}
		},
		Complete: a.jobAddresses,
	}
}

func (a *app) pull(ctx context.Context, v varFlags, to string, asJSON bool, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	s, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	w := &work{launcher: a.launcher()}
	defer w.close()
	r := contact.Of(c, st, w.provider(ctx)).Copy(ctx, s.List(c), to, func(text string) { a.notef("%s\n", term.CleanLine(text)) })
	if !asJSON {
		a.printf("%s", r.Text())
	} else if err := a.encode(r); err != nil {
		return err
	}
	return a.report(r.Diagnostics())
}
