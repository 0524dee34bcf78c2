package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func pullCommand(a *app) *command.Command {
	return &command.Command{
		Name: "pull", Args: "[ADDR…]", Short: "copy outputs here and verify their digests", MaxArgs: -1,
		Long: `Copies the outputs of completed jobs into -to, resuming what a broken transfer left, and compares every digest with what
was recorded when the job ended. What is there already and right is not copied again.
What a backend bills for what leaves it (usd_per_gb_out) is told, and enters neither ledger nor budgets.`,
		Examples: []command.Example{{"muster pull -to=results", "everything"}, {"muster pull -to=results phase.figure", "only the figure"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			to := fs.String("to", "outputs", "`DIR` to copy into; the paths below the workdir are kept")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, args []string) error {
				return a.pull(ctx, v, a.path(*to), *asJSON, args)
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
	connect, err := a.connect(ctx, w, c, st)
	if err != nil {
		return err
	}
	from := origins(connect, c, st)
	r := page.PullTo(to)
	for _, address := range s.List(c) {
		j := st.Job(address)
		if j == nil || j.Status != state.Completed {
			continue
		}
		for _, o := range j.Outputs {
			files, err := pullOutput(ctx, from, j, o, to)
			for _, f := range files {
				f.Address, f.Output = address, o.Name
				r.Files = append(r.Files, f)
			}
			if err != nil {
				r.Failed = append(r.Failed, page.Unpulled{Address: address, Output: o.Name, Error: err.Error()})
			}
		}
	}
	if !asJSON {
		a.printf("%s", r.Text())
	} else if err := a.encode(r); err != nil {
		return err
	}
	return a.report(r.Diagnostics())
}

// pullOutput copies the files of one output.
func pullOutput(ctx context.Context, from origin, j *state.Job, o state.Output, to string) (files []page.PulledFile, err error) {
	end, rate, err := from(ctx, j, o)
	if err != nil {
		return nil, err
	}
	fetched, err := haul.Fetch(ctx, end, o, to)
	var gone *providers.Error
	if errors.As(err, &gone) && gone.Class == providers.NotFound {
		err = fmt.Errorf("%s is not on backend.%s any more", term.CleanLine(o.Path), o.Backend)
	}
	for _, f := range fetched {
		file := page.PulledFile{Path: f.Path, File: f.File, Size: f.Size, Digest: f.Digest, Kept: f.Kept}
		if rate.IsPositive() && !f.Kept {
			file.USD = place.Leaving(rate, f.Size).String()
		}
		files = append(files, file)
	}
	return files, err
}

// An origin is where an output is read from, and what is billed there of 10^9
// bytes that leave.
type origin func(ctx context.Context, j *state.Job, o state.Output) (haul.End, decimal.Decimal, error)

// origins finds where outputs lie, and asks each backend once what it has.
func origins(connect connector, c *lang.Campaign, st *state.State) origin {
	pools := map[string][]offer.Pool{}
	return func(ctx context.Context, j *state.Job, o state.Output) (end haul.End, rate decimal.Decimal, err error) {
		p, err := connect(o.Backend)
		if err != nil {
			return end, rate, err
		}
		conf, err := backendOf(c, st, o.Backend)
		if err != nil {
			return end, rate, err
		}
		if _, known := pools[o.Backend]; !known {
			if pools[o.Backend], err = p.Pools(ctx, o.Backend); err != nil {
				return end, rate, err
			}
		}
		pool := ""
		if a := j.Last(); a != nil && a.Backend == o.Backend {
			pool = a.Pool
		}
		spot := site.SpotOf(conf, pools[o.Backend], pool)
		workdir := site.AtHome(o.Workdir, pools[o.Backend], pool)
		if workdir == "" {
			workdir = spot.Workdir
		}
		for _, offered := range pools[o.Backend] {
			if offered.Name == pool {
				rate = place.OutRate(declared(c, o.Backend), offered)
			}
		}
		return haul.End{Files: p, Backend: spot.Name(), Workdir: workdir}, rate, nil
	}
}

// declared is a backend as the campaign has it, nil where it has it no more.
func declared(c *lang.Campaign, name string) *lang.Backend {
	for _, b := range c.Backends {
		if b.Address() == name {
			return b
		}
	}
	return nil
}
