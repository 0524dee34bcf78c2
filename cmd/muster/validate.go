package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/source"
)

func validateCommand(a *app) *command.Command {
	return &command.Command{
		Name: "validate", Short: "check everything that can be known without a backend", MaxArgs: 0,
		Long: `Reads all files of the campaign and reports every mistake in them at once. It asks no backend and reads no state; variables
without a value are unknown.`,
		Examples: []command.Example{{"muster validate", "check the campaign in this directory"}, {"muster validate -json", "for an editor or CI"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print the result as JSON")
			return func(ctx context.Context, _ []string) error {
				c, diags := a.load(v, true)
				if !diags.HasErrors() {
					diags.Append(c.UnusedBackends(nil)...)
					diags.Append(source.Wrong(ctx, c, a.guard.Reads)...)
					diags.Append(source.Endings(c, nil, a.guard.Reads)...)
				}
				if *asJSON {
					return validateJSON(a.stdout, a.sources, diags)
				}
				if err := a.report(diags); err != nil {
					return err
				}
				jobs := 0
				for _, p := range c.Phases {
					jobs += p.Len()
				}
				a.printf("The campaign %q is valid: %s, %s.\n", c.Name, units.Count(len(c.Phases), "phase"), units.Count(jobs, "job"))
				return nil
			}
		},
	}
}

// validateJSON prints diagnostics; files are the campaign's, for their lines.
func validateJSON(out io.Writer, files diag.Sources, diags diag.List) error {
	errors, warnings := 0, 0
	for _, d := range diags {
		if d.Severity == diag.Error {
			errors++
		} else {
			warnings++
		}
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	err := enc.Encode(map[string]any{
		"format_version": page.FormatVersion, "valid": errors == 0, "error_count": errors, "warning_count": warnings, "diagnostics": diag.ToJSON(diags, files),
	})
	if err == nil && errors > 0 {
		err = command.Failed
	}
	return err
}
