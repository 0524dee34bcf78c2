package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
)

func providersCommand(a *app) *command.Command {
	return &command.Command{
		Name: "providers", Short: "list the providers found and locked", MaxArgs: 0,
		Long: `Lists the built-in providers and the external ones that are found (MUSTER_PLUGIN_DIR, .muster/providers, the XDG data
directory, PATH), with their versions and whether .muster.lock.hcl has them.`,
		Examples: []command.Example{{"muster providers", "what there is"}, {"muster providers -json", "for a script"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(_ context.Context, _ []string) error {
				list, err := a.plugins().List(version)
				if err != nil {
					return err
				}
				if *asJSON {
					return a.encode(map[string]any{"format_version": page.FormatVersion, "providers": list})
				}
				t := term.Table{Indent: "  ", Width: a.out.Row}
				for _, p := range list {
					t.Row(p.Name, p.Version, p.Kind, p.Path, p.Note)
				}
				a.printf("%s", t.String())
				return nil
			}
		},
	}
}

// serveCommand is in the table so that help and completion know it; main handles
// it before anything else is set up.
func serveCommand(a *app) *command.Command {
	return &command.Command{
		Name: "provider serve", Args: "TYPE", Short: "serve a built-in provider (internal)", Hidden: true, MinArgs: 1, MaxArgs: 1,
		Long:  "Started by muster itself, one process per type of backend.",
		Setup: func(*flag.FlagSet) command.Action { return func(context.Context, []string) error { return nil } },
	}
}
