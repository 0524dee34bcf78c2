package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

func approveCommand(a *app) *command.Command {
	return &command.Command{
		Name: "approve", Args: "FILE", Short: "approve a saved plan that more than one person must approve", MinArgs: 1, MaxArgs: 1,
		Long: `Prints a saved plan, asks, and records your approval in the state. If the campaign's policy has require_approvals, apply
starts such a plan only when that many people have approved it; a person who applies it at a terminal is one of them. It starts nothing.`,
		Examples: []command.Example{{"muster approve month.mplan", "after you read it"}, {"muster approve -var=site=alpine month.mplan", "a plan of a campaign with variables"}},
		Exits:    []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			return func(ctx context.Context, args []string) error { return a.approvePlan(ctx, v, args[0]) }
		},
	}
}

// approvePlan keeps the approval of the person at the terminal.
func (a *app) approvePlan(ctx context.Context, v varFlags, name string) error {
	file, err := planfile.Read(absolute(name))
	if err != nil {
		return err
	}
	look := file.Head.Second
	if look.Approvals < 2 {
		a.printf("This plan needs no second person. To apply it:\n\n    muster apply %s\n", name)
		return nil
	}
	c, err := a.loadSaved(file, v)
	if err != nil {
		return err
	}
	if err := a.showSaved(file, v, false); err != nil {
		return err
	}
	who, host := whoami()
	return a.change(ctx, c, "approve", func(s store.Session) error {
		if ds := file.Current(c, s.State()); ds.HasErrors() {
			return a.report(ds)
		}
		if file.ApprovedBy(s.State())[who] {
			a.printf("%s approved this plan before; somebody else must approve it, too.\n", who)
			return nil
		}
		yes, err := a.ask("Approve this plan? Only \"yes\" is accepted: ")
		if err != nil {
			return err
		}
		if !yes {
			a.printf("\nYour approval was not recorded.\n")
			return command.Failed
		}
		if err := s.Append(state.Reviewed{Review: state.Review{Plan: file.Head.ID, Who: who, Host: host, At: a.now()}}); err != nil {
			return err
		}
		a.printf("\nApproved by %s. %s\n", who, nextApproval(look.Approvals-len(file.ApprovedBy(s.State())), name))
		return nil
	})
}

// nextApproval says who must do what next, when so many approvals are left.
func nextApproval(left int, name string) string {
	switch {
	case left <= 0:
		return fmt.Sprintf("To apply it:\n\n    muster apply %s", name)
	case left == 1:
		return fmt.Sprintf("Another person can apply it, and is the last to approve it:\n\n    muster apply %s", name)
	}
	return fmt.Sprintf("%s more must approve it; the last of them applies it:\n\n    muster approve %s", units.Count(left, "person"), name)
}

// approvals refuses a saved plan that too few persons approved. Who applies it at a
// terminal is one of them; CI is nobody.
func (ap *applying) approvals(st *state.State) error {
	by := ap.file.ApprovedBy(st)
	if who, _ := whoami(); ap.global.input {
		by[who] = true
	}
	return ap.report(ap.file.CheckApprovals(st, by, ap.f.saved))
}
