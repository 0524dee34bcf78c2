package contact

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// LogOptions select the part of each log that is read.
type LogOptions struct {
	Attempt int  // counted from 1; 0 is the last, -1 the one before it
	Lines   int  // the last ones only; 0 is all
	Follow  bool // read on until the job ends
	Format  LogFormat
}

// Logs prints the logs of jobs one after the other, or all at once if they are
// followed. It reports whether it printed anything.
func (b *Backends) Logs(ctx context.Context, jobs []*state.Job, o LogOptions, out io.Writer) (printed bool, err error) {
	var mu sync.Mutex // guards out and printed
	errs := make([]error, len(jobs))
	one := func(i int) {
		some, err := b.log(ctx, jobs[i], o, out, &mu)
		mu.Lock()
		defer mu.Unlock()
		printed, errs[i] = printed || some, err
	}
	if !o.Follow {
		for i := range jobs {
			one(i)
		}
		return printed, errors.Join(errs...)
	}
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() { one(i) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return printed, nil // the reader has seen enough
	}
	return printed, errors.Join(errs...)
}

// log prints the log of one job in whole lines; mu guards out.
func (b *Backends) log(ctx context.Context, j *state.Job, o LogOptions, out io.Writer, mu *sync.Mutex) (printed bool, err error) {
	at, err := attemptOf(j, o.Attempt)
	if err != nil {
		return false, command.Usagef("%s", err)
	}
	p, err := b.Reach(ctx, at.Backend)
	if err != nil {
		return false, err
	}
	w := o.Format.writer(j, at, out, mu)
	err = p.Logs(ctx, providers.LogRequest{Backend: at.Backend, Token: at.Token, Handle: at.Handle, Attempt: at.N, Stderr: o.Format.Stderr, Lines: o.Lines, Follow: o.Follow}, w)
	w.flush()
	return w.printed, err
}
