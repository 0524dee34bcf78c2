package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
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
					return a.cleanBackends(ctx, connect, st, names, *asJSON)
				}
				views := askBackends(ctx, connect, names)
				if *asJSON {
					return a.encode(map[string]any{"format_version": formatVersion, "backends": views})
				}
				a.printBackends(views)
				return nil
			}
		},
		complete: func(a *app, _ string) []string {
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
			out[i].Problem = providers.WithHint(err)
		}
	}
	return out
}

func (a *app) printBackends(views []backendReport) {
	for _, v := range views {
		a.printf("\nbackend.%s%s\n", v.Name, sharedFacts(v.Pools))
		if v.Problem != "" {
			a.printf("  ? cannot be asked: %s\n", term.CleanLine(v.Problem))
			continue
		}
		t := term.Table{Indent: "  "}
		for _, p := range v.Pools {
			facts := ""
			if sharedFacts(v.Pools) == "" {
				facts = poolFacts(p)
			}
			t.Row(cmp.Or(strings.TrimSpace(p.Word+" "+p.Name), "pool"), poolSize(p), poolFree(p), poolLimit(p), poolPrice(p), facts)
		}
		a.printf("%s", t.String())
		for _, n := range poolNotes(v.Pools) {
			a.printf("  %s\n", strings.Join(term.Wrap(n, a.out.Width-4), "\n    "))
		}
	}
}

// sharedFacts is how old the facts are when that is the same for all pools.
func sharedFacts(pools []offer.Pool) string {
	if len(pools) < 2 {
		return ""
	}
	for _, p := range pools {
		if poolFacts(p) != poolFacts(pools[0]) {
			return ""
		}
	}
	return "   " + poolFacts(pools[0])
}

// poolNotes are the notes of all pools, each once, with the pools it is about.
func poolNotes(pools []offer.Pool) (lines []string) {
	about := map[string][]string{}
	var notes []string
	for _, p := range pools {
		for _, n := range p.Notes {
			if about[n] == nil {
				notes = append(notes, n)
			}
			about[n] = append(about[n], p.Name)
		}
	}
	for _, n := range notes {
		on := " on " + strings.Join(about[n], ", ")
		if len(about[n]) == len(pools) {
			on = ""
		}
		lines = append(lines, "note"+term.CleanLine(on)+": "+term.CleanLine(n))
	}
	return lines
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
	what := "slots"
	if p.GPUs > 0 {
		what = "GPUs"
	}
	switch {
	case p.Idle < 0:
		return "? free"
	case p.Others > 0:
		return fmt.Sprintf("%d of %d %s free, %d held by others", p.Idle, p.Total, what, p.Others)
	case p.Total > 0:
		return fmt.Sprintf("%d of %d %s free", p.Idle, p.Total, what)
	}
	return ""
}

func poolLimit(p offer.Pool) string {
	var parts []string
	if p.MaxTime > 0 {
		parts = append(parts, "≤"+units.ShortDuration(p.MaxTime))
	}
	if p.MaxJobs > 0 {
		parts = append(parts, units.Count(p.MaxJobs, "job")+" at once")
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
	return "no charge"
}

// poolFacts is where a pool's facts come from, and of when those are that
// nobody has just been asked for.
func poolFacts(p offer.Pool) string {
	switch {
	case p.Verified == "":
		return p.Source
	case p.Source == "":
		return "facts of " + p.Verified
	}
	return p.Source + ", of " + p.Verified
}

// A cleanReport is one backend in `muster backends -cleanup -json`.
type cleanReport struct {
	Name    string   `json:"name"`
	Removed []string `json:"removed"`
	Problem string   `json:"problem,omitempty"`
}

// cleanBackends removes what muster put there, unless jobs are in flight. A
// backend that cannot be cleaned does not keep the others from it.
func (a *app) cleanBackends(ctx context.Context, connect connector, st *state.State, names []string, asJSON bool) error {
	if n := len(st.InFlight()); n > 0 {
		return usagef("%s of this campaign may still run: cancel or finish them before cleaning up", units.Count(n, "job"))
	}
	reports := []cleanReport{}
	var diags diag.List
	for _, name := range names {
		r := cleanReport{Name: name, Removed: []string{}}
		removed, err := cleanBackend(ctx, connect, name)
		r.Removed = append(r.Removed, removed...)
		if err != nil {
			r.Problem = providers.WithHint(err)
			d := providerFault(err)
			d.Address = "backend." + name
			diags.Append(d)
		}
		reports = append(reports, r)
	}
	if asJSON {
		if err := a.encode(map[string]any{"format_version": formatVersion, "backends": reports}); err != nil {
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

func cleanBackend(ctx context.Context, connect connector, name string) ([]string, error) {
	p, err := connect(name)
	if err != nil {
		return nil, err
	}
	cleaner, ok := p.(providers.Cleaner)
	if !ok {
		return nil, nil
	}
	return cleaner.Clean(ctx, name)
}
