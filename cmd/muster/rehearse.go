package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/providers/failure"
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
			fs.Var(&fails, "fail", "this share of launches fails with a class, instead of what history shows: `CLASS=SHARE`, such as preempted=0.1 (repeatable); none=0 for no failures at all")
			runs := fs.Int("runs", 100, "how many times: `N`, from 1 to 100000")
			seed := fs.Uint64("seed", 1, "what chance begins with: `N`")
			asJSON := fs.Bool("json", false, "print as JSON, with every rehearsal")
			return func(ctx context.Context, _ []string) error {
				if *runs < 1 || *runs > mostRuns {
					return command.Usagef("-runs=%d: at least 1 and at most %d", *runs, mostRuns)
				}
				rates, err := failRates(fails)
				if err != nil {
					return err
				}
				return a.rehearse(ctx, p, rehearsal{runs: *runs, seed: *seed, fails: rates, json: *asJSON})
			}
		},
	}
}

// A rehearsal is what was asked for.
type rehearsal struct {
	runs  int
	seed  uint64
	fails map[string]float64
	json  bool
}

// failRates reads -fail; nil where it was not given.
func failRates(list []string) (map[string]float64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out, sum := map[string]float64{}, 0.0
	for _, text := range list {
		class, share, ok := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(share, 64)
		switch {
		case !ok || err != nil || !(v >= 0 && v <= 1):
			return nil, command.Usagef("-fail=%s: a failure class and a share from 0 to 1 are needed, such as preempted=0.1", text)
		case class == "none" && v == 0:
			continue
		case !validClass(class):
			return nil, command.Usagef("-fail=%s: %q is no failure class; there are %s, and those of the campaign's failure blocks", text, class, strings.Join(failure.Known(), ", "))
		}
		out[class] = v
		sum += v
	}
	if sum > 1 {
		return nil, command.Usagef("the shares of -fail add up to %g, which is more than every launch", sum)
	}
	return out, nil
}

// validClass reports whether a name can be a class: the campaign may have its own.
func validClass(name string) bool {
	return name != "" && name != "none" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
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
	if !w.plan.Counts.Changes() && !r.json {
		a.printf("Nothing to rehearse: the plan does nothing.\n")
		return nil
	}
	stage, err := rehearse.New(rehearse.Input{Campaign: w.campaign, State: w.state, Plan: w.plan, Pools: w.input.Pools, Can: w.input.Can, Seed: r.seed, Fails: r.fails})
	if err != nil {
		return err
	}
	runs, err := a.playAll(ctx, stage, r.runs)
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

// playAll plays as many at once as there are processors. Each is the same
// whatever is played beside it.
func (a *app) playAll(ctx context.Context, stage *rehearse.Stage, n int) ([]rehearse.Run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runs := make([]rehearse.Run, n)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				run, err := stage.Play(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				runs[i] = run
				done.Add(1)
			}
		})
	}
	stop := a.counting(&done, n)
	wg.Wait()
	stop()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return runs, nil
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
