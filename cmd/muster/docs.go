package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/term"
)

// docsCommand writes docs/reference/cli from the command table; a test holds
// the pages against it.
func docsCommand() *command {
	return &command{
		name: "docs", args: "DIR", short: "write the CLI reference (internal)", hidden: true, minArgs: 1, maxArgs: 1,
		long: "Writes one page for each command into DIR.",
		setup: func(*flag.FlagSet) runFunc {
			return func(_ context.Context, a *app, args []string) error {
				return writeReference(a, a.path(args[0]))
			}
		},
	}
}

func writeReference(a *app, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	for name, page := range reference(a) {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return fmt.Errorf("write the reference: %w", err)
		}
	}
	return nil
}

// reference is every page of the CLI reference by file name.
func reference(a *app) map[string][]byte {
	pages := map[string][]byte{}
	var index bytes.Buffer
	index.WriteString("# Command line\n\n<!-- made from the command table by `make generate` -->\n\n| command | does |\n|---|---|\n")
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		file := strings.ReplaceAll(c.name, " ", "-") + ".md"
		fmt.Fprintf(&index, "| [%s](%s) | %s |\n", c.name, file, c.short)
		var page bytes.Buffer
		fmt.Fprintf(&page, "# muster %s\n\n<!-- made from the command table by `make generate` -->\n\n```text\n", c.name)
		c.help(&page, a, term.MaxWidth)
		page.WriteString("```\n")
		pages[file] = page.Bytes()
	}
	index.WriteString("\n## Exit codes\n\n| code | means |\n|---|---|\n")
	for _, code := range []int{exitDone, exitError, exitChanges, exitHeld, exitBudget, exitLocked, exitInterrupted} {
		fmt.Fprintf(&index, "| %d | %s |\n", code, exitCodes[code])
	}
	pages["README.md"] = index.Bytes()
	return pages
}
