package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// errTrusted says that the user has just trusted items: the command starts again.
var errTrusted = errors.New("items were trusted")

// allowances are the things that the campaign may do before anything is
// approved: those that this user trusts, or agrees to when asked.
type allowances struct {
	*terminal
	guard *trust.Guard // nil until the directory is known
}

// hideSecrets keeps sensitive values of a campaign out of the descriptions of items.
func (al *allowances) hideSecrets(c *lang.Campaign) {
	if c == nil || al.guard == nil {
		return
	}
	var all []string
	for _, v := range c.Variables {
		for _, s := range v.Secrets {
			if s != "" {
				all = append(all, s, "(sensitive)")
			}
		}
	}
	al.guard.Hide = strings.NewReplacer(all...).Replace
}

// tellLeft says in one line what a command left out, and how to allow it.
func (al *allowances) tellLeft() {
	if al.guard == nil {
		return
	}
	if err := al.guard.Problem(); err != nil && len(al.guard.Left()) > 0 {
		al.notef("Cannot read the list of trusted items: %v.\n", err)
	}
	if left := al.guard.Left(); len(left) > 0 {
		al.notef("%s\n", trust.LeftOut(left))
	}
}

// needsTrust are items that the approval of a plan does not cover: the plan shows the jobs,
// not the programs that muster runs to plan them.
var needsTrust = []trust.Kind{trust.Provider, trust.Host, trust.Backend, trust.Store, trust.Link}

// trustLeft shows the items that were left out and asks for them. It is errTrusted
// after a yes, nil if nothing was left out.
func (al *allowances) trustLeft(f applyFlags) error {
	left := al.guard.Left()
	if f.once || f.saved != "" {
		left = slices.DeleteFunc(left, func(it trust.Item) bool { return !slices.Contains(needsTrust, it.Kind) })
	}
	if len(left) == 0 {
		return nil
	}
	if !al.global.input || f.json || f.once {
		al.fail(diag.List{{Summary: "Not everything that this campaign would do is trusted", Detail: "It would:\n\n" + trust.List(left) +
			"\nCannot ask for approval here. Run `muster apply` at a terminal once, which shows and asks; or set " + trust.Env + "=1 where the campaign is your own, such as CI on a protected branch. Nothing was started."}})
		if f.once {
			return command.Changes
		}
		return command.Failed
	}
	return al.askTrust(left)
}

// trustPlaces is trustLeft for the places of jobs in flight, which a command about
// jobs has to reach.
func (al *allowances) trustPlaces(c *lang.Campaign, st *state.State) error {
	al.meetPlaces(c, st)
	return al.trustLeft(applyFlags{saved: "-"})
}

// meetPlaces notes the places of jobs in flight that are not trusted.
func (al *allowances) meetPlaces(c *lang.Campaign, st *state.State) {
	for _, j := range st.InFlight() {
		if at := j.Last(); at != nil {
			if conf, err := contact.Config(c, st, at.Backend); err == nil {
				_ = al.guard.Reach(conf)
			}
		}
	}
}

// askTrust shows items and asks this user to trust them.
func (al *allowances) askTrust(items []trust.Item) error {
	yes, err := al.ask(fmt.Sprintf("This campaign would do things that you have not allowed yet:\n\n%s\nDo you trust this? muster remembers your answer by content and asks again after a change. Only \"yes\" is accepted: ", trust.List(items)))
	if err != nil {
		return err
	}
	if !yes {
		al.printf("\nNothing was started.\n")
		return command.Failed
	}
	al.remember(items)
	return errTrusted
}

// remember trusts items. That they cannot be remembered stops nothing: they are
// asked for again.
func (al *allowances) remember(items []trust.Item) {
	if err := al.guard.Trust(items, al.now()); err != nil {
		al.notef("This is trusted for this run only; muster cannot remember it: %v.\n", err)
	}
}

// approved trusts the items of a plan that was approved on the command line, and lets the
// campaign run.
func (al *allowances) approved(f applyFlags) {
	met, by := al.guard.Met(), "-auto-approve"
	if f.saved != "" {
		met, by = append(met, al.guard.Left()...), "this plan"
	}
	if len(met) > 0 {
		al.notef("Trusted from now on, by %s: %s.\n%s", by, trust.Summary(met), trust.List(met))
		al.remember(met)
	}
	al.guard.Grant()
}

// allowSecrets asks for the secrets of a campaign. They are read when jobs are
// submitted.
func (al *allowances) allowSecrets(c *lang.Campaign) {
	for _, p := range c.Phases {
		for _, s := range p.Secrets {
			al.guard.Allows(trust.OfSecret(s))
		}
	}
}
