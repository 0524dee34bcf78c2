package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

func logsCommand(a *app) *command.Command {
	return &command.Command{
		Name: "logs", Args: "ADDR…", Short: "a job's log; several are interleaved with a prefix", MinArgs: 1, MaxArgs: -1,
		Long: `Prints what jobs wrote: the last attempt's standard output, or another with -attempt and -stderr. -f follows running jobs.
Attempts before a muster resume are there, too: each resume counts from 1 again, and -attempt=-1, -2, … go back over it.`,
		Examples: []command.Example{{"muster logs seed=42,N=384", "what one job printed"}, {"muster logs -f -n=20 phase.students", "follow a phase"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			o := logOptions{}
			fs.BoolVar(&o.follow, "f", false, "follow: go on until the jobs end")
			fs.IntVar(&o.lines, "n", 0, "only the last `N` lines; 0 = all")
			fs.BoolVar(&o.stderr, "stderr", false, "standard error instead of standard output")
			fs.IntVar(&o.attempt, "attempt", 0, "which attempt, counted from 1; 0 = the last, -1 the one before it: `N`")
			fs.BoolVar(&o.smoke, "smoke", false, "the log of the job's smoke")
			fs.BoolVar(&o.json, "json", false, "print one JSON object a line of the log")
			return func(ctx context.Context, args []string) error { return a.logs(ctx, v, o, args) }
		},
		Complete: a.jobAddresses,
	}
}

type logOptions struct {
	follow, stderr, smoke, json bool
	lines, attempt              int
}

// mostLogs is how many logs are followed or printed at once.
const mostLogs = 64

func (a *app) logs(ctx context.Context, v varFlags, o logOptions, args []string) error {
	if o.lines < 0 {
		return fmt.Errorf("-n is a number of lines, at least 0; %d was found", o.lines)
	}
	c, st, s, err := a.openFor(ctx, v, args)
	if err != nil {
		return err
	}
	var jobs []*state.Job
	for _, address := range s.Named() {
		if o.smoke {
			address = state.SmokeAddress(address)
		}
		if j := st.Recalled(address); j != nil && len(j.Attempts) > 0 {
			jobs = append(jobs, j)
		}
	}
	sortJobs(jobs)
	switch {
	case len(jobs) == 0:
		return command.Usagef("none of the %d selected jobs has been started yet, so there is no log", len(s.Named()))
	case len(jobs) > mostLogs:
		return command.Usagef("%d logs at once are too many to read (most: %d): select fewer", len(jobs), mostLogs)
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
	printed := false
	one := func(j *state.Job) error {
		at, err := attemptOf(j, o.attempt)
		if err != nil {
			return err
		}
		p, err := provider(at.Backend)
		if err != nil {
			return err
		}
		w := &wholeLines{w: a.stdout, mu: &mu, line: a.logLine(j, at, len(jobs) > 1, o)}
		defer func() {
			w.flush()
			mu.Lock()
			defer mu.Unlock()
			printed = printed || w.printed
		}()
		return p.Logs(ctx, providers.LogRequest{Backend: at.Backend, Token: at.Token, Handle: at.Handle, Attempt: at.N, Stderr: o.stderr, Lines: o.lines, Follow: o.follow}, w)
	}
	if !o.follow {
		var errs []error
		for _, j := range jobs {
			errs = append(errs, one(j))
		}
		if !printed && len(jobs) == 1 && !o.json && errs[0] == nil {
			a.notef("%s", emptyLog(jobs[0], o))
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

// emptyLog says where else to look: what went wrong mostly stands on the other
// stream.
func emptyLog(j *state.Job, o logOptions) string {
	was, other := "stdout", "-stderr "
	if o.stderr {
		was, other = "stderr", ""
	}
	if o.attempt != 0 {
		other += fmt.Sprintf("-attempt=%d ", o.attempt)
	}
	if o.smoke {
		other += "-smoke "
	}
	return fmt.Sprintf("Nothing on %s. The other stream: muster logs %s'%s'\n", was, other, term.CleanLine(j.Address))
}

func attemptOf(j *state.Job, n int) (*state.Attempt, error) {
	if n <= 0 {
		if back := len(j.Attempts) - 1 + n; back >= 0 {
			return &j.Attempts[back], nil
		}
		return nil, command.Usagef("%s has no attempt %d before its last; it has %d in all", j.Address, -n, len(j.Attempts))
	}
	for i := range slices.Backward(j.Attempts) { // after a resume attempts count from 1 again: the newest of that number
		if j.Attempts[i].N == n {
			return &j.Attempts[i], nil
		}
	}
	return nil, command.Usagef("%s has no attempt %d; it has %d", j.Address, n, len(j.Attempts))
}

// A logLine is one line of `muster logs -json`.
type logLine struct {
	FormatVersion string `json:"format_version"`
	Address       string `json:"address"`
	Attempt       int    `json:"attempt"`
	Stream        string `json:"stream"` // "stdout", "stderr"
	Text          string `json:"text"`
}

// logLine writes a line of a job's log: cleaned of control characters, with
// its address when there are several; or as an object.
func (a *app) logLine(j *state.Job, at *state.Attempt, several bool, o logOptions) func(w io.Writer, text string) error {
	if o.json {
		l := logLine{FormatVersion: page.FormatVersion, Address: j.Key(), Attempt: at.N, Stream: "stdout"}
		if o.stderr {
			l.Stream = "stderr"
		}
		return func(w io.Writer, text string) error {
			l.Text = strings.ToValidUTF8(text, "\ufffd")
			return encoderTo(w).Encode(l)
		}
	}
	prefix := ""
	if several {
		prefix = a.out.Paint(term.Cyan, term.CleanLine(j.Address)) + " | "
	}
	return func(w io.Writer, text string) error {
		_, err := fmt.Fprintf(w, "%s%s\n", prefix, term.Clean(text))
		return err
	}
}

// wholeLines passes on whole lines of one log, all that have come at once, so
// that logs that are followed together do not mix within a line.
type wholeLines struct {
	w    io.Writer
	mu   *sync.Mutex // of w
	line func(w io.Writer, text string) error
	rest []byte // the beginning of a line
	out  bytes.Buffer

	printed bool
}

// longestLine is where a line without an end is broken, in bytes, so that it
// takes no more memory than that.
const longestLine = 1 << 20

func (p *wholeLines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if p.rest = append(p.rest, rest...); len(p.rest) >= longestLine {
				p.end(nil)
			}
			break
		}
		p.end(rest[:i])
		rest = rest[i+1:]
	}
	return len(b), p.pass()
}

// end completes a line.
func (p *wholeLines) end(b []byte) {
	p.rest = append(p.rest, b...)
	p.line(&p.out, string(bytes.TrimSuffix(p.rest, []byte("\r")))) // a buffer takes everything
	p.rest = p.rest[:0]
}

func (p *wholeLines) pass() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.out.WriteTo(p.w)
	p.printed = p.printed || n > 0
	return err
}

func (p *wholeLines) flush() {
	if len(p.rest) > 0 {
		p.end(nil)
	}
	p.pass()
}
