package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// answerWithin is how long a running apply may take to answer a request: a
// few turns of its loop.
const answerWithin = 30 * time.Second

// holderEvery is how often one looks whether the holder of the lease has ended.
const holderEvery = 250 * time.Millisecond

func holdCommand(a *app) *command.Command {
	return requestCommand(a, request.Hold, &command.Command{
		Name: "hold", Args: "[ADDR…]", Short: "stop starting jobs: all, or those selected", MaxArgs: -1,
		Long: `Starts no more jobs, or none of those that the addresses select. Running jobs continue. The hold stays in the state and on
the backends until muster resume. If a backend does not take the hold, its queue may still start jobs: hold names it, and exits 3.`,
		Exits:    []command.Exit{command.Held},
		Examples: []command.Example{{"muster hold", "start nothing more"}, {"muster hold -reason='node is sick' phase.students", "only one phase"}},
	})
}

func resumeCommand(a *app) *command.Command {
	return requestCommand(a, request.Resume, &command.Command{
		Name: "resume", Args: "[ADDR…]", Short: "lift a hold, close a breaker, or release held jobs", MaxArgs: -1,
		Long: `Lifts holds, closes breakers, and lets held jobs start again with their attempts counted from 1: all, or those that the
addresses select. If a backend does not take it, resume names it, and exits 3; the next muster apply tries again.`,
		Exits:    []command.Exit{command.Held},
		Examples: []command.Example{{"muster resume", "release everything"}, {"muster resume seed=42", "only what one seed holds"}},
	})
}

func cancelCommand(a *app) *command.Command {
	return requestCommand(a, request.Cancel, &command.Command{
		Name: "cancel", Args: "ADDR…", Short: "hold jobs, then stop them: TERM, then KILL", MinArgs: 1, MaxArgs: -1,
		Long: `Holds the jobs that the addresses select and that have not ended, so that nothing starts them again until muster resume ADDR or a change of the job, fetches the end of their logs, and ends them:
TERM, a grace period, then KILL. It does not touch other people's jobs. If a backend does not take the cancel, its jobs may run on: cancel names it,
and exits 3.`,
		Exits:    []command.Exit{command.Held},
		Examples: []command.Example{{"muster cancel seed=42", "every job of one seed"}, {"muster cancel -reason='wrong data' 'phase.students[\"N=384,*\"]'", "a part of one phase"}},
	})
}

func overrideCommand(a *app) *command.Command {
	return requestCommand(a, request.Override, &command.Command{
		Name: "override", Args: "ADDR", Short: "let a phase pass its smoke gate, recorded with your name and reason", MinArgs: 1, MaxArgs: 1,
		Long: `Lets the smoke gate of a phase pass although the smoke failed or has not run. The state records the override with your
name and -reason, and every later plan shows it. Jobs that were submitted behind a smoke start without it: at
once under a running apply, else with the next one, which also cancels a smoke that has not ended.`,
		Examples: []command.Example{{"muster override -reason='loss is noisy at 50 steps' phase.teachers", "after looking at the smoke's log"}, {"muster override -reason='checked by hand' teachers", "by the phase's name alone"}},
	})
}

// requestCommand finishes a command that is done by a running apply, or by
// itself when none runs.
func requestCommand(a *app, verb request.Verb, c *command.Command) *command.Command {
	c.Exits = append(c.Exits, command.Locked)
	c.Complete = a.jobAddresses
	c.Setup = func(fs *flag.FlagSet) command.Action {
		var v varFlags
		v.register(fs)
		reason := fs.String("reason", "", "record `TEXT` as the reason, in the state")
		asJSON := fs.Bool("json", false, "print the result as JSON")
		return func(ctx context.Context, args []string) error {
			if verb == request.Override && *reason == "" {
				return command.Usagef("an override needs a reason: -reason=TEXT")
			}
			return a.request(ctx, v, verb, *reason, *asJSON, args)
		}
	}
	return c
}

func (a *app) request(ctx context.Context, v varFlags, verb request.Verb, reason string, asJSON bool, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	who, host := whoami()
	r := request.Request{Verb: verb, Reason: reason, Who: who, Host: host, At: a.now()}
	if r.Addresses, err = a.requestAddresses(c, st, verb, args); err != nil {
		return err
	}
	answer, err := a.submit(ctx, c, r)
	if err != nil {
		return err
	}
	if answer.Error != "" {
		return command.Usagef("%s", answer.Error)
	}
	if asJSON {
		err = a.encode(map[string]any{"format_version": page.FormatVersion, "did": verb, "text": answer.Text, "jobs": answer.Jobs, "not_reached": answer.NotReached, "who": who, "reason": reason})
	} else {
		a.printf("%s\n", diag.Sentence(answer.Text))
	}
	if err == nil && answer.NotReached > 0 {
		return command.Held
	}
	return err
}

// submit does a request under the lease, or hands it to whoever holds it.
func (a *app) submit(ctx context.Context, c *lang.Campaign, r request.Request) (request.Answer, error) {
	return a.serve(ctx, c, r, func(s store.Session) (answer request.Answer, err error) {
		w, err := a.planTrusted(ctx, c, s.State(), planFlags{})
		if w != nil {
			defer w.close()
		}
		if err != nil {
			return answer, err
		}
		defer func() {
			for _, text := range refresh.Repairs(w.input.Observed.Findings) {
				answer.Text += "; " + text
			}
		}()
		return apply.Do(ctx, apply.Config{Plan: w.plan, Campaign: c, Session: s, Provider: w.provider(ctx), Who: r.Who, Host: r.Host, Muster: version}, r)
	})
}

// serve does a request under the lease, or hands it to whoever holds it: again, as often as a
// holder ends before it could answer.
func (a *app) serve(ctx context.Context, c *lang.Campaign, r request.Request, do func(store.Session) (request.Answer, error)) (request.Answer, error) {
	for {
		var answer request.Answer
		err := a.change(ctx, c, string(r.Verb), func(s store.Session) (err error) {
			answer, err = do(s)
			return err
		})
		var locked *store.LockedError
		if errors.As(err, &locked) {
			answer, err = askHolder(ctx, a, c, r, locked)
		}
		if !errors.Is(err, request.ErrEnded) {
			return answer, err
		}
	}
}

// planTrusted plans with the backends that this user trusts by now, and grants the
// user's requests. The work is to be closed, also after an error.
func (a *app) planTrusted(ctx context.Context, c *lang.Campaign, st *state.State, p planFlags) (*work, error) {
	w, err := a.planWith(ctx, c, st, p)
	if err == nil {
		if err = a.trustPlaces(c, st); errors.Is(err, errTrusted) {
			w.close()
			w, err = a.planWith(ctx, c, st, p)
		}
	}
	if err == nil {
		a.guard.Grant()
	}
	return w, err
}

// askHolder hands a request to the muster that holds the lease. request.ErrEnded means that it
// no longer does.
func askHolder(ctx context.Context, a *app, c *lang.Campaign, r request.Request, locked *store.LockedError) (request.Answer, error) {
	defer a.slow("Waiting for the running apply to answer…")()
	if err := a.guard.Data(a.requestsDir()); err != nil {
		return request.Answer{}, errors.Join(err, locked)
	}
	s, err := a.storeTo(c, false)
	if err != nil {
		return request.Answer{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		for ctx.Err() == nil {
			if h, err := s.Holder(ctx); err == nil && (h == nil || h.Lease.ID != locked.Lease.ID) {
				stop(request.ErrEnded)
			}
			select {
			case <-ctx.Done():
			case <-time.After(holderEvery):
			}
		}
	}()
	answer, err := request.Send(ctx, a.requestsDir(), r, answerWithin)
	if err != nil && !errors.Is(err, request.ErrEnded) {
		err = errors.Join(err, locked)
	}
	return answer, err
}
