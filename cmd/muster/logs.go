package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/state"
)

func logsCommand(a *app) *command.Command {
	return &command.Command{
		Name: "logs", Args: "ADDR…", Short: "print a job's log; several are interleaved, each line with its job", MinArgs: 1, MaxArgs: -1,
		Long: `Prints what jobs wrote: the last attempt's standard output, or another with -attempt and -stderr. -f follows running jobs.
Attempts before a muster resume are included: each resume counts from 1 again, and -attempt=-1, -2, … count back over all.`,
		Examples: []command.Example{{"muster logs seed=42,N=384", "what one job printed"}, {"muster logs -f -n=20 phase.students", "follow a phase"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			o := logOptions{}
			fs.BoolVar(&o.follow, "f", false, "follow the log until the jobs end")
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
	slices.SortFunc(jobs, func(a, b *state.Job) int { return strings.Compare(a.Address, b.Address) })
	switch {
	case len(jobs) == 0:
		return command.Usagef("none of the %d selected jobs has been started yet, so there is no log", len(s.Named()))
	case len(jobs) > mostLogs:
		return command.Usagef("%d logs at once are too many to read (most: %d): select fewer", len(jobs), mostLogs)
	}
	w := &work{launcher: a.launcher()}
	defer w.close()
	printed, err := contact.Of(c, st, w.provider(ctx)).Logs(ctx, jobs, contact.LogOptions{Attempt: o.attempt, Lines: o.lines, Follow: o.follow,
		Format: contact.LogFormat{JSON: o.json, Stderr: o.stderr, Named: len(jobs) > 1, Style: a.out}}, a.stdout)
	if err == nil && !printed && len(jobs) == 1 && !o.json && !o.follow {
		a.notef("%s", emptyLog(jobs[0], o))
	}
	return err
}

// emptyLog says that a job has not started, or names the other stream: errors are mostly there.
func emptyLog(j *state.Job, o logOptions) string {
	latest := o.attempt == 0 || o.attempt == j.Attempts[len(j.Attempts)-1].N
	if latest && (j.Status == state.Submitting || j.Status == state.Queued) {
		return fmt.Sprintf("There is no log of %s yet: when muster last looked, it had not started.\n", term.CleanLine(j.Address))
	}
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
	return fmt.Sprintf("Nothing on %s. The other stream: muster logs %s%s\n", was, other, shell.Enclose(term.CleanLine(j.Address)))
}
