package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/offer"
)

func pullCommand(a *app) *command.Command {
	return &command.Command{
		Name: "pull", Args: "[ADDR…]", Short: "copy outputs here and verify their digests", MaxArgs: -1,
		Long: `Copies the outputs of completed jobs into -to, resumes broken transfers, and compares every digest with the recorded one.
It does not copy files again that already exist with the right digest.
Every minute it reports its progress: the share, the rate and the time left.
It writes muster-run.json beside them: for each job its commit, source, image and packages, its inputs, place and time, and the
digest of every file; -crate also writes it as RO-Crate metadata.
If a backend bills for outgoing files (usd_per_gb_out), it shows that cost, which counts in neither ledger nor budgets.`,
		Examples: []command.Example{{"muster pull -to=results", "everything"}, {"muster pull -to=results phase.figure", "only the figure"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			to := fs.String("to", "outputs", "`DIR` to copy into; the paths below the workdir are kept")
			asJSON := fs.Bool("json", false, "print as JSON")
			crate := fs.Bool("crate", false, "write ro-crate-metadata.json, too, for an archive that accepts RO-Crates")
			return func(ctx context.Context, args []string) error {
				return a.pull(ctx, v, absolute(*to), *asJSON, *crate, args)
			}
		},
		Complete: a.jobAddresses,
	}
}

func (a *app) pull(ctx context.Context, v varFlags, to string, asJSON, crate bool, args []string) error {
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
	if err := keepRecord(page.RecordOf(c, st, r, a.now()), to, crate); err != nil {
		return err
	}
	if !asJSON {
		a.printf("%s", r.Text())
	} else if err := a.encode(r); err != nil {
		return err
	}
	return a.report(r.Diagnostics())
}

// keepRecord writes the record of a pull, merged with those of earlier pulls there.
func keepRecord(r page.Record, to string, crate bool) error {
	if len(r.Jobs) == 0 {
		return nil
	}
	path := filepath.Join(to, offer.RunRecord)
	var earlier page.Record
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &earlier) == nil {
		r = r.With(earlier)
	}
	documents := map[string]any{path: r}
	if crate {
		documents[filepath.Join(to, page.CrateName)] = r.Crate()
	}
	for path, v := range documents {
		b, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			err = atomicfile.Write(path, append(b, '\n'), 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
