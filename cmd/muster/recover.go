package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func recoverCommand(a *app) *command.Command {
	return &command.Command{
		Name: "recover", Short: "rebuild a lost state from the files on the backends", MaxArgs: 0,
		Long: `For a campaign whose state is lost with its backup and history. Searches every backend for the outputs of all jobs, shows its findings
and the questions that no backend can answer, and asks. With your approval it verifies the outputs, records the jobs whose outputs pass as
done (adopted), and sets a hold on everything: jobs of the lost state may still run, so check for them before you run muster resume. You
can repeat it while such jobs end. It fails if the state records a job that muster ran.`,
		Examples: []command.Example{{"muster recover", "look, ask, adopt"}, {"muster recover -dry-run", "look, and adopt nothing"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			r := recovering{app: a}
			r.v.register(fs)
			fs.BoolVar(&r.dryRun, "dry-run", false, "show the outputs, and record nothing")
			fs.BoolVar(&r.yes, "auto-approve", false, "do not ask")
			fs.BoolVar(&r.json, "json", false, "print as JSON")
			return r.run
		},
	}
}

type recovering struct {
	*app
	v                 varFlags
	dryRun, yes, json bool
}

func (r *recovering) run(ctx context.Context, _ []string) error {
	c, st, err := r.open(ctx, r.v)
	if err != nil {
		return err
	}
	if err := lost(st); err != nil {
		return err
	}
	for _, p := range c.Phases {
		if len(p.Outputs) > 0 {
			c.Imports = append(c.Imports, lang.Import{To: "phase." + p.Name})
		}
	}
	if r.dryRun {
		return r.look(ctx, c, st, func(*work, page.Recovery) error { return nil })
	}
	return r.change(ctx, c, "recover", func(s store.Session) error {
		if err := lost(s.State()); err != nil {
			return err
		}
		return r.look(ctx, c, s.State(), func(w *work, found page.Recovery) error { return r.adopt(ctx, w, s, &found) })
	})
}

// lost refuses a state that records work of muster's own.
func lost(st *state.State) error {
	n := 0
	for _, j := range st.All() {
		if !j.Adopted() {
			n++
		}
	}
	if n > 0 {
		return command.Usagef("the state has %s that muster ran or started: nothing is lost. To adopt files of other jobs, add an import block", units.Count(n, "record"))
	}
	return nil
}

// look plans as if nothing were held, shows the jobs found, and goes on with them.
func (r *recovering) look(ctx context.Context, c *lang.Campaign, st *state.State, then func(*work, page.Recovery) error) error {
	free := *st
	free.Holds = nil
	w, err := r.planTrusted(ctx, c, &free, planFlags{refresh: true})
	if w != nil {
		defer w.close()
	}
	if w == nil || w.plan == nil {
		return err
	}
	young := apply.Unsettled(w.plan, r.now())
	found := page.RecoveryOf(c.Name, w.plan, w.input.Observed, w.input.Pools, young)
	if !r.json {
		r.printf("%s", found.Text(r.out.Width))
	} else if r.dryRun {
		return r.encode(found)
	}
	return then(w, found)
}

func (r *recovering) adopt(ctx context.Context, w *work, s store.Session, found *page.Recovery) error {
	if !r.yes {
		yes, err := r.ask(fmt.Sprintf("Adopt the outputs of %s, and hold everything else? Only \"yes\" is accepted: ", units.Count(found.Found, "job")))
		if err != nil {
			return err
		}
		if !yes {
			r.printf("Nothing was recorded.\n")
			return command.Failed
		}
	}
	who, host := whoami()
	var err error
	found.Adopted, err = apply.Recover(ctx, apply.Config{Plan: w.plan, Campaign: w.campaign, Session: s, Provider: w.provider(ctx), Who: who, Host: host, Muster: version, Progress: r.said},
		state.Hold{Who: who, Reason: "recovered: jobs of the lost state may still run", At: r.now()})
	if err != nil {
		return err
	}
	if r.json {
		return r.encode(found)
	}
	r.printf("%s", found.Ending(r.out.Width))
	return nil
}

// said prints why files were not adopted.
func (r *recovering) said(p progress.Snapshot) {
	if p.Bad && p.Note != "" {
		r.notef("%s\n", term.CleanLine(term.Join(": ", p.Address, p.Note)))
	}
}
