package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/planner/view"
)

// mostRuns bounds -runs: more tells nothing that fewer do not.
const mostRuns = 100_000

func rehearseCommand(a *app) *command.Command {
	return &command.Command{
		Name: "rehearse", Short: "simulate the plan many times: costs, times, failures", MaxArgs: 0,
		Long: `Plans as muster plan does, then simulates the plan in virtual time: the engine of muster apply, with its budgets, retries,
breakers and gates, on simulated backends. Runtimes and failure rates come from history, or else from the plan's
assumptions. It starts nothing, spends nothing and writes nothing.

The same seed gives the same result, to the byte, while the campaign, its state and the backends' answers stay the same.`,
		Examples: []command.Example{
			{"muster rehearse", "a hundred times, before a month of compute is approved"},
			{"muster rehearse -fail=preempted=0.2 -runs=500", "what if one launch in five is preempted"},
		},
		Setup: func(fs *flag.FlagSet) command.Action {
			var p planFlags
			p.varFlags.register(fs)
			fs.Var(&p.targets, "target", "rehearse only the jobs that `ADDR` selects (repeatable)")
			fs.BoolVar(&p.refresh, "refresh", true, "ask the backends about jobs; -refresh=false trusts the state")
			var fails texts
			fs.Var(&fails, "fail", "let this share of launches fail with a class, instead of the share in history: `CLASS=SHARE`, such as preempted=0.1 (repeatable); none=0 for no failures; expect=0.1 for smokes that miss their expectations")
			after := fs.Duration("resume-after", 0, "resume held jobs this long after everything has stopped: `DURATION`, such as 12h; without it they stay held")
			bandwidth := fs.String("bandwidth", "", "bandwidth of links to other machines in a second, instead of the measured or assumed one: `SIZE`, such as 50MiB")
			runs := fs.Int("runs", 100, "number of rehearsals: `N`, from 1 to 100000")
			seed := fs.Uint64("seed", 1, "seed of all random numbers: `N`")
			asJSON := fs.Bool("json", false, "print as JSON, with every rehearsal")
			return func(ctx context.Context, _ []string) error {
				if *runs < 1 || *runs > mostRuns {
					return command.Usagef("-runs=%d: at least 1 and at most %d", *runs, mostRuns)
				}
				r := rehearsal{runs: *runs, seed: *seed, json: *asJSON}
				var err error
				if r.shares, err = rehearse.ParseShares(fails); err != nil {
					return command.Usagef("%s", err)
				}
				if r.resumeAfter = *after; r.resumeAfter < 0 {
					return command.Usagef("-resume-after=%s: nothing is held yet at that time", *after)
				}
				if *bandwidth != "" {
					if r.bandwidth, err = units.ParseSize(*bandwidth); err != nil || r.bandwidth <= 0 {
						return command.Usagef("-bandwidth=%s: a size is needed, more than 0, such as 50MiB", *bandwidth)
					}
				}
				return a.rehearse(ctx, p, r)
			}
		},
	}
}

// A rehearsal is the request of a user.
type rehearsal struct {
	runs        int
	seed        uint64
	shares      rehearse.Shares // of launches and smokes that fail
	bandwidth   int64           // bytes a second; 0: as measured, or assumed
	resumeAfter time.Duration   // 0: nobody does
	json        bool
}

func (a *app) rehearse(ctx context.Context, p planFlags, r rehearsal) error {
	w, err := a.plan(ctx, p)
	if err != nil {
		return err
	}
	defer w.close()
	if err := a.report(w.diags); err != nil {
		return err
	}
	if err := r.shares.Check(w.campaign.Failures); err != nil {
		return command.Usagef("%s", err)
	}
	c := w.plan.Counts
	stopped := c.Held + c.Blocked
	if !c.Changes() && !r.json && (stopped == 0 || r.resumeAfter == 0) {
		return a.nothingToRehearse(w.plan, stopped)
	}
	in := rehearse.Input{Campaign: w.campaign, State: w.state, Plan: w.plan, Pools: w.input.Pools, Can: w.input.Can, Seed: r.seed, Fails: r.shares.Launches, Unexpected: r.shares.Smokes, Bandwidth: r.bandwidth, ResumeAfter: r.resumeAfter, Again: w.input}
	defer paceCollector(rehearsalGarbage)()
	var done atomic.Int64
	stop := func() {}
	if a.err.TTY {
		stop = counting(a.stderr, &done, r.runs)
	}
	played, ok := unlessInterrupted(ctx, func() (p struct {
		stage *rehearse.Stage
		runs  []rehearse.Result
		err   error
	}) {
		if p.stage, p.err = rehearse.New(in); p.err == nil {
			p.runs, p.err = p.stage.PlayAll(ctx, r.runs, &done)
		}
		return p
	})
	stop()
	stage, runs, err := played.stage, played.runs, played.err
	if !ok || errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if r.json {
		return a.encode(page.RehearsalOf(w.plan, stage, r.seed, runs))
	}
	a.printf("%s", page.RehearsalText(w.plan, stage, r.seed, runs, a.out))
	return nil
}

// nothingToRehearse says so of a plan, and which jobs wait for somebody and why.
func (a *app) nothingToRehearse(p *planner.Plan, stopped int) error {
	a.printf("Nothing to rehearse: the plan starts nothing.\n")
	if c := p.Counts; stopped+c.Unknown+c.Missing+c.Altered+c.Bytes == 0 {
		return nil
	}
	a.printf("\n")
	if err := (view.Human{Style: a.out}).Waiting(a.stdout, p); err != nil {
		return err
	}
	if stopped > 0 {
		a.printf("To rehearse a resume 12 hours later:\n\n    muster rehearse -resume-after=12h\n")
	}
	return nil
}

// counting shows on a terminal how far the rehearsals are.
func counting(out io.Writer, done *atomic.Int64, n int) (stop func()) {
	tick, gone := time.NewTicker(200*time.Millisecond), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(out, "\r%d of %d rehearsed", done.Load(), n)
			case <-gone:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(gone)
		<-ended
		fmt.Fprint(out, "\r\x1b[K")
	}
}
