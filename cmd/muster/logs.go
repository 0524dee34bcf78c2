package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

func logsCommand() *command {
	return &command{
		name: "logs", args: "ADDR…", short: "a job's log; several are interleaved with a prefix", minArgs: 1, maxArgs: -1,
		long:     `Prints what jobs wrote: the last attempt's standard output, or another with -attempt and -stderr. -f follows running jobs.`,
		examples: []example{{"muster logs seed=42,N=384", "what one job printed"}, {"muster logs -f -n=20 phase.students", "follow a phase"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			o := logOptions{}
			fs.BoolVar(&o.follow, "f", false, "follow: go on until the jobs end")
			fs.IntVar(&o.lines, "n", 0, "only the last `N` lines; 0 = all")
			fs.BoolVar(&o.stderr, "stderr", false, "standard error instead of standard output")
			fs.IntVar(&o.attempt, "attempt", 0, "which attempt, counted from 1; 0 = the last: `N`")
			fs.BoolVar(&o.smoke, "smoke", false, "the log of the job's smoke")
			return func(ctx context.Context, a *app, args []string) error { return a.logs(ctx, v, o, args) }
		},
		complete: jobAddresses,
	}
}

type logOptions struct {
	follow, stderr, smoke bool
	lines, attempt        int
}

// mostLogs is how many logs are followed or printed at once.
const mostLogs = 64

func (a *app) logs(ctx context.Context, v varFlags, o logOptions, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	s, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	var jobs []*state.Job
	for address := range s.jobs {
		if o.smoke {
			address = state.SmokeAddress(address)
		}
		if j := st.Job(address); j != nil && len(j.Attempts) > 0 {
			jobs = append(jobs, j)
		}
	}
	sortJobs(jobs)
	switch {
	case len(jobs) == 0:
		return usagef("none of the %d selected jobs has been started yet, so there is no log", len(s.jobs))
	case len(jobs) > mostLogs:
		return usagef("%d logs at once are too many to read (most: %d): select fewer", len(jobs), mostLogs)
	}
	w := &work{launcher: a.launcher()}
	defer w.close()
	provider, err := a.connect(ctx, w, c, st)
	if err != nil {
		return err
	}
	return a.copyLogs(ctx, provider, jobs, o)
}

// copyLogs prints one log after the other, or all at once when they are
// followed; each line whole, with its job's address before it when there are
// several.
func (a *app) copyLogs(ctx context.Context, provider func(string) (providers.Provider, error), jobs []*state.Job, o logOptions) error {
	var mu sync.Mutex
	one := func(j *state.Job) error {
		at, err := attemptOf(j, o.attempt)
		if err != nil {
			return err
		}
		p, err := provider(at.Backend)
		if err != nil {
			return err
		}
		w := &prefixed{w: a.stdout, mu: &mu}
		if len(jobs) > 1 {
			w.prefix = a.out.Paint(term.Cyan, term.CleanLine(j.Address)) + " | "
		}
		defer w.flush()
		return p.Logs(ctx, providers.LogRequest{Backend: at.Backend, Token: at.Token, Handle: at.Handle, Attempt: at.N, Stderr: o.stderr, Lines: o.lines, Follow: o.follow}, w)
	}
	if !o.follow {
		var errs []error
		for _, j := range jobs {
			errs = append(errs, one(j))
		}
		return errors.Join(errs...)
	}
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { errs[i] = one(j) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil // the reader has seen enough
	}
	return errors.Join(errs...)
}

func attemptOf(j *state.Job, n int) (*state.Attempt, error) {
	if n == 0 {
		return j.Last(), nil
	}
	for i := range j.Attempts {
		if j.Attempts[i].N == n {
			return &j.Attempts[i], nil
		}
	}
	return nil, usagef("%s has no attempt %d; it has %d", j.Address, n, len(j.Attempts))
}

// prefixed writes whole lines, cleaned of control characters.
type prefixed struct {
	w      io.Writer
	mu     *sync.Mutex
	prefix string
	rest   []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		if err := p.line(p.rest[:i]); err != nil {
			return 0, err
		}
		p.rest = p.rest[i+1:]
	}
}

func (p *prefixed) line(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintf(p.w, "%s%s\n", p.prefix, term.Clean(string(bytes.TrimSuffix(b, []byte("\r")))))
	return err
}

func (p *prefixed) flush() {
	if len(p.rest) > 0 {
		p.line(p.rest)
	}
}
