package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func backendsCommand() *command {
	return &command{
		name: "backends", args: "[NAME…]", short: "each backend: reachable or not, its pools, limits, prices and facts", maxArgs: -1,
		long: `Asks each backend of the campaign what it has: pools with their limits, devices, prices, what is free, and how old the
facts are. -cleanup removes what muster put there, when nothing of this campaign runs.`,
		examples: []example{{"muster backends", "every backend"}, {"muster backends -json local.local", "one, for a script"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			cleanup := fs.Bool("cleanup", false, "remove what muster put on the backends")
			return func(ctx context.Context, a *app, args []string) error {
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
				connect, err := a.connect(ctx, w, c, st)
				if err != nil {
					return err
				}
				if *cleanup {
					return a.cleanBackends(ctx, connect, st, names)
				}
				views := askBackends(ctx, connect, names)
				if *asJSON {
					return json.NewEncoder(a.stdout).Encode(map[string]any{"format_version": "1.0", "backends": views})
				}
				a.printBackends(views)
				return nil
			}
		},
		complete: func(a *app) []string {
			c, _ := a.load(varFlags{}, true)
			if c == nil {
				return nil
			}
			names, _ := backendNames(c, nil)
			return names
		},
	}
}

// A backendReport is one backend in `muster backends -json`.
type backendReport struct {
	Name    string       `json:"name"`
	Problem string       `json:"problem,omitempty"`
	Pools   []offer.Pool `json:"pools"`
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
			return nil, usagef("there is no backend %q; there are: %s", arg, strings.Join(all, ", "))
		}
	}
	return out, nil
}

type connector func(string) (providers.Provider, error)

func askBackends(ctx context.Context, connect connector, names []string) []backendReport {
	out := make([]backendReport, len(names))
	for i, name := range names {
		out[i] = backendReport{Name: name, Pools: []offer.Pool{}}
		p, err := connect(name)
		if err == nil {
			out[i].Pools, err = p.Pools(ctx, name)
		}
		if err != nil {
			out[i].Problem = err.Error()
		}
	}
	return out
}

func (a *app) printBackends(views []backendReport) {
	for _, v := range views {
		a.printf("\nbackend.%s\n", v.Name)
		if v.Problem != "" {
			a.printf("  ? cannot be asked: %s\n", term.CleanLine(v.Problem))
			continue
		}
		t := term.Table{Indent: "  "}
		for _, p := range v.Pools {
			t.Row(cmp.Or(strings.TrimSpace(p.Word+" "+p.Name), "pool"), poolSize(p), poolFree(p), poolLimit(p), poolPrice(p), poolFacts(p))
		}
		a.printf("%s", t.String())
		for _, p := range v.Pools {
			for _, n := range p.Notes {
				a.printf("  note: %s\n", term.CleanLine(n))
			}
		}
	}
}

func poolSize(p offer.Pool) string {
	var parts []string
	if p.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d cores", p.CPUs))
	}
	if p.Memory > 0 {
		parts = append(parts, units.FormatSize(p.Memory))
	}
	if p.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d×%s", p.GPUs, cmp.Or(p.GPUModel, "GPU")))
	}
	return strings.Join(parts, ", ")
}

func poolFree(p offer.Pool) string {
	switch {
	case p.Idle < 0:
		return "free: unknown"
	case p.Others > 0:
		return fmt.Sprintf("%d of %d free, %d held by others", p.Idle, p.Total, p.Others)
	case p.Total > 0:
		return fmt.Sprintf("%d of %d free", p.Idle, p.Total)
	}
	return ""
}

func poolLimit(p offer.Pool) string {
	var parts []string
	if p.MaxTime > 0 {
		parts = append(parts, "≤"+units.ShortDuration(p.MaxTime))
	}
	if p.MaxJobs > 0 {
		parts = append(parts, plural(p.MaxJobs, "job")+" at once")
	}
	if p.Testing {
		parts = append(parts, "for tests")
	}
	return strings.Join(parts, ", ")
}

func poolPrice(p offer.Pool) string {
	r := p.Price
	switch {
	case !r.Known:
		return "price unknown"
	case r.USDPerGPUHour != "":
		return "$" + r.USDPerGPUHour + "/GPU-hour"
	case r.USDPerHour != "":
		return "$" + r.USDPerHour + "/hour"
	case r.SUPerGPUHour != "":
		return r.SUPerGPUHour + " SU/GPU-hour"
	case r.SUPerNodeHour != "":
		return r.SUPerNodeHour + " SU/node-hour"
	case r.SUPerCPUHour != "":
		return r.SUPerCPUHour + " SU/core-hour"
	}
	return "free"
}

func poolFacts(p offer.Pool) string {
	if p.Verified != "" {
		return "facts of " + p.Verified
	}
	return p.Source
}

// cleanBackends removes what muster put there, unless jobs are in flight.
func (a *app) cleanBackends(ctx context.Context, connect connector, st *state.State, names []string) error {
	if n := len(st.InFlight()); n > 0 {
		return usagef("%s of this campaign may still run: cancel or finish them before cleaning up", plural(n, "job"))
	}
	for _, name := range names {
		p, err := connect(name)
		if err != nil {
			return err
		}
		cleaner, ok := p.(providers.Cleaner)
		if !ok {
			a.printf("backend.%s: nothing to clean up\n", name)
			continue
		}
		removed, err := cleaner.Clean(ctx, name)
		for _, path := range removed {
			a.printf("backend.%s: removed %s\n", name, term.CleanLine(path))
		}
		if err != nil {
			return fmt.Errorf("clean backend.%s: %w", name, err)
		}
	}
	return nil
}
