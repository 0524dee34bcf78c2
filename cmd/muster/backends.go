package main

import (
	"context"
	"flag"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

func backendsCommand(a *app) *command.Command {
	return &command.Command{
		Name: "backends", Args: "[NAME…]", Short: "list each backend: reachable or not, its pools, limits, prices and facts", MaxArgs: -1,
		Long: `Asks each backend of the campaign for its pools, with their limits, devices, prices, free places, and the age of the facts.
-cleanup removes muster's files there, if no job of this campaign runs.`,
		Examples: []command.Example{{"muster backends", "every backend"}, {"muster backends -json local.local", "one, for a script"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			cleanup := fs.Bool("cleanup", false, "remove muster's files from the backends")
			return func(ctx context.Context, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				names, err := backendNames(c, args)
				if err != nil {
					return err
				}
				w := &work{launcher: a.launcher()}
				defer w.close()
				backends := contact.Of(c, st, w.provider(ctx))
				if *cleanup {
					return a.cleanBackends(ctx, backends, st, names, *asJSON)
				}
				views := backends.Ask(ctx, names)
				if *asJSON {
					return a.encode(map[string]any{"format_version": page.FormatVersion, "backends": views})
				}
				a.printf("%s", page.BackendsText(views, a.out.Width, a.out.Row))
				return nil
			}
		},
		Complete: func(string) []string {
			c, _ := a.load(varFlags{}, true)
			if c == nil {
				return nil
			}
			names, _ := backendNames(c, nil)
			return names
		},
	}
}

func backendNames(c *lang.Campaign, args []string) ([]string, error) {
	var all []string
	for _, b := range c.Backends {
		all = append(all, b.Address())
	}
	if len(args) == 0 {
		return all, nil
	}
	var out []string
	for _, arg := range args {
		name := strings.TrimPrefix(arg, "backend.")
		found := false
		for _, n := range all {
			if n == name || strings.HasSuffix(n, "."+name) {
				out, found = append(out, n), true
			}
		}
		if !found {
			return nil, command.Usagef("there is no backend %q; there are: %s", arg, strings.Join(all, ", "))
		}
	}
	return out, nil
}

// A cleanReport is one backend in `muster backends -cleanup -json`.
type cleanReport struct {
	Name    string   `json:"name"`
	Removed []string `json:"removed"`
	Problem string   `json:"problem,omitempty"`
}

// cleanBackends removes muster's files from backends, unless jobs are in flight. An error of
// one backend does not stop the others.
func (a *app) cleanBackends(ctx context.Context, backends *contact.Backends, st *state.State, names []string, asJSON bool) error {
	if n := len(st.InFlight()); n > 0 {
		return command.Usagef("%s of this campaign may still run: cancel or finish them before cleaning up", units.Count(n, "job"))
	}
	reports := []cleanReport{}
	var diags diag.List
	for _, name := range names {
		r := cleanReport{Name: name, Removed: []string{}}
		removed, err := backends.Clean(ctx, name)
		r.Removed = append(r.Removed, removed...)
		if err != nil {
			r.Problem = providers.WithHint(err)
			d := plugins.Fault(err)
			d.Address = "backend." + name
			diags.Append(d)
		}
		reports = append(reports, r)
	}
	if asJSON {
		if err := a.encode(map[string]any{"format_version": page.FormatVersion, "backends": reports}); err != nil {
			return err
		}
		return a.report(diags)
	}
	for _, r := range reports {
		for _, path := range r.Removed {
			a.printf("backend.%s: removed %s\n", r.Name, term.CleanLine(path))
		}
		if len(r.Removed) == 0 && r.Problem == "" {
			a.printf("backend.%s: nothing to clean up\n", r.Name)
		}
	}
	return a.report(diags)
}
