package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/command"
)

// docsCommand writes docs/reference/cli from the command table; a test holds
// the pages against it.
func docsCommand(a *app) *command.Command {
	return &command.Command{
		Name: "docs", Args: "DIR", Short: "write the CLI reference (internal)", Hidden: true, MinArgs: 1, MaxArgs: 1,
		Long: "Writes one page for each command into DIR.",
		Setup: func(*flag.FlagSet) command.Action {
			return func(_ context.Context, args []string) error {
				return writeReference(a.table(), absolute(args[0]))
			}
		},
	}
}

func writeReference(t *command.Table, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	for name, page := range t.Reference() {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return fmt.Errorf("write the reference: %w", err)
		}
	}
	return nil
}
