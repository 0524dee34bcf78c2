package contact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Copy copies the outputs of completed jobs into a folder and compares every file
// with its recorded digest. It reports progress every minute, and files that resume
// after a break.
func (b *Backends) Copy(ctx context.Context, addresses []string, to string, say func(string)) page.Pull {
	from := origins{Backends: b, pools: map[string][]offer.Pool{}, far: staging.Begin(b.bytes(addresses), time.Now())}
	from.far.Resumed = func(file string, at, size int64) { say(staging.ResumedText(file, at, size)) }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go from.watch(ctx, say)
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

// sayEvery is how often is said how far a copy is.
const sayEvery = time.Minute

func (b origins) watch(ctx context.Context, say func(string)) {
	t := time.NewTicker(sayEvery)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			if text := staging.Text(now, b.far); text != "" {
				say("copied: " + text)
			}
		case <-ctx.Done():
			return
		}
	}
}

// bytes are those of the outputs of jobs that are completed.
func (b *Backends) bytes(addresses []string) (sum int64) {
	for _, address := range addresses {
		if j := b.state.Job(address); j != nil && j.Status == state.Completed {
			for _, o := range j.Outputs {
				sum += o.Size
			}
		}
	}
	return sum
}

// origins are the places of outputs. Each backend is asked once for its own.
type origins struct {
	*Backends
	pools map[string][]offer.Pool
	far   *staging.Progress
}

// copy copies the files of one output.
func (b origins) copy(ctx context.Context, j *state.Job, o state.Output, to string) (files []page.PulledFile, err error) {
	end, rate, err := b.of(ctx, j, o)
	if err != nil {
		return nil, err
	}
	fetched, err := staging.Fetch(ctx, end, o, to, b.far)
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

// of is the place from which an output is read, and the price there of 10^9 bytes that leave.
func (b origins) of(ctx context.Context, j *state.Job, o state.Output) (end staging.Side, rate decimal.Decimal, err error) {
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
	if pool != "" && conf.Type == "ssh" && site.Gone(conf, pool) {
		return end, rate, fmt.Errorf("%s is no longer in hosts of backend.%s", pool, conf.Name)
	}
	spot := site.FilesystemOf(conf, pools, pool)
	workdir := site.AtHome(o.Workdir, pools, pool)
	if workdir == "" {
		workdir = spot.Workdir
	}
	for _, offered := range pools {
		if offered.Name == pool {
			rate = place.OutRate(b.declared(o.Backend), offered)
		}
	}
	return staging.Side{Files: p, Backend: spot.Name(), Workdir: workdir}, rate, nil
}
