package contact

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Copy copies the outputs of those of some jobs that are completed into a folder,
// and compares what is there with what was recorded.
func (b *Backends) Copy(ctx context.Context, addresses []string, to string) page.Pull {
	from := origins{Backends: b, pools: map[string][]offer.Pool{}}
	r := page.PullTo(to)
	for _, address := range addresses {
		j := b.state.Job(address)
		if j == nil || j.Status != state.Completed {
			continue
		}
		for _, o := range j.Outputs {
			files, err := from.copy(ctx, j, o, to)
			for _, f := range files {
				f.Address, f.Output = address, o.Name
				r.Files = append(r.Files, f)
			}
			if err != nil {
				r.Failed = append(r.Failed, page.Unpulled{Address: address, Output: o.Name, Error: err.Error()})
			}
		}
	}
	return r
}

// origins are where outputs lie. Each backend is asked once what it has.
type origins struct {
	*Backends
	pools map[string][]offer.Pool
}

// copy copies the files of one output.
func (b origins) copy(ctx context.Context, j *state.Job, o state.Output, to string) (files []page.PulledFile, err error) {
	end, rate, err := b.of(ctx, j, o)
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

// of is where an output is read from, and what is billed there of 10^9 bytes that
// leave.
func (b origins) of(ctx context.Context, j *state.Job, o state.Output) (end haul.End, rate decimal.Decimal, err error) {
	p, err := b.Reach(ctx, o.Backend)
	if err != nil {
		return end, rate, err
	}
	conf, err := b.config(o.Backend)
	if err != nil {
		return end, rate, err
	}
	if _, known := b.pools[o.Backend]; !known {
		if b.pools[o.Backend], err = p.Pools(ctx, o.Backend); err != nil {
			return end, rate, err
		}
	}
	pools, pool := b.pools[o.Backend], ""
	if a := j.Last(); a != nil && a.Backend == o.Backend {
		pool = a.Pool
	}
	spot := site.SpotOf(conf, pools, pool)
	workdir := site.AtHome(o.Workdir, pools, pool)
	if workdir == "" {
		workdir = spot.Workdir
	}
	for _, offered := range pools {
		if offered.Name == pool {
			rate = place.OutRate(b.declared(o.Backend), offered)
		}
	}
	return haul.End{Files: p, Backend: spot.Name(), Workdir: workdir}, rate, nil
}
