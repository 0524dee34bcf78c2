package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/rehearse"
)

// mostRuns bounds -runs: more tells nothing that fewer do not.
const mostRuns = 100_000

func rehearseCommand(a *app) *command.Command {
	return &command.Command{
		Name: "rehearse", Short: "play the plan many times on simulated backends: what it may cost, take and lose", MaxArgs: 0,
		Long: `Plans as muster plan does, then plays the plan in virtual time: the engine of muster apply, with its budgets, retries,
breakers and gates, on simulated stand-ins of the backends. How long jobs take and how often launches fail is drawn from
history, or from what the plan assumes where there is none. It starts nothing, spends nothing and writes nothing.

The same seed rehearses the same, to the byte, while the campaign, its state and the answers of the backends are the same.`,
		Examples: []command.Example{
			{"muster rehearse", "a hundred times, before a month of compute is approved"},
			{"muster rehearse -fail=preempted=0.2 -runs=500", "what if one launch in five is preempted"},
		},
		Setup: func(fs *flag.FlagSet) command.Run {
			var p planFlags
			p.varFlags.register(fs)
			fs.Var(&p.targets, "target", "rehearse only the jobs that `ADDR` selects (repeatable)")
			fs.BoolVar(&p.refresh, "refresh", true, "ask the backends what became of jobs; -refresh=false believes the state")
			var fails texts
			fs.Var(&fails, "fail", "this share of launches fails with a class, instead of what history shows: `CLASS=SHARE`, such as preempted=0.1 (repeatable); none=0 for no failures at all; expect=0.1 for smokes that say other than expected")
			after := fs.Duration("resume-after", 0, "somebody comes so long after everything has stopped, and resumes what is held: `DURATION`, such as 12h; otherwise it stays held")
			bandwidth := fs.String("bandwidth", "", "what links to other machines carry in a second, instead of what was measured or is assumed: `SIZE`, such as 50MiB")
			runs := fs.Int("runs", 100, "how many times: `N`, from 1 to 100000")
			seed := fs.Uint64("seed", 1, "what chance begins with: `N`")
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
					return command.Usagef("-resume-after=%s: nobody comes before something is held", *after)
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

// A rehearsal is what was asked for.
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
	stands := c.Held + c.Blocked // for somebody
	if !c.Changes() && !r.json && (stands == 0 || r.resumeAfter == 0) {
		a.printf("Nothing to rehearse: the plan does nothing.\n")
		if stands > 0 {
			a.printf("Held or blocked: %s. -resume-after=12h rehearses what comes of it if somebody resumes it then.\n", units.Count(stands, "job"))
		}
		return nil
	}
	stage, err := rehearse.New(rehearse.Input{Campaign: w.campaign, State: w.state, Plan: w.plan, Pools: w.input.Pools, Can: w.input.Can, Seed: r.seed, Fails: r.shares.Launches, Unexpected: r.shares.Smokes, Bandwidth: r.bandwidth, ResumeAfter: r.resumeAfter, Again: w.input})
	if err != nil {
		return err
	}
	var done atomic.Int64
	stop := a.counting(&done, r.runs)
	runs, err := stage.PlayAll(ctx, r.runs, &done)
	stop()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return errInterrupted
		}
		return err
	}
	if r.json {
		return a.encode(page.RehearsalOf(w.plan, stage, r.seed, runs))
	}
	a.printf("%s", page.RehearsalText(w.plan, stage, r.seed, runs, a.out))
	return nil
}

// counting shows on a terminal how far the rehearsals are.
func (a *app) counting(done *atomic.Int64, n int) (stop func()) {
	if !a.err.TTY {
		return func() {}
	}
	tick, gone := time.NewTicker(200*time.Millisecond), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(a.stderr, "\r%d of %d rehearsed", done.Load(), n)
			case <-gone:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(gone)
		<-ended
		fmt.Fprint(a.stderr, "\r\x1b[K")
	}
}
