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

// errTrusted says that items were trusted just now: what was done without them is
// to be done again.
var errTrusted = errors.New("items were trusted")

// hideSecrets keeps sensitive values of a campaign out of what is said of items.
func (a *app) hideSecrets(c *lang.Campaign) {
	if c == nil || a.guard == nil {
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
	a.guard.Hide = strings.NewReplacer(all...).Replace
}

// tellLeft says in one line what a command left out, and how to allow it.
func (a *app) tellLeft() {
	if a.guard == nil {
		return
	}
	if err := a.guard.Problem(); err != nil && len(a.guard.Left()) > 0 {
		a.notef("What is trusted cannot be read: %v.\n", err)
	}
	if left := a.guard.Left(); len(left) > 0 {
		a.notef("%s\n", trust.LeftOut(left))
	}
}

// needsTrust are items that an approval of a plan does not cover: the plan shows what
// jobs do, and not who is asked where they may run.
var needsTrust = []trust.Kind{trust.Provider, trust.Host, trust.Backend, trust.Store}

// trustLeft shows the items that were left out and asks for them. It is errTrusted
// after a yes, nil if nothing was left out.
func (a *app) trustLeft(f applyFlags) error {
	left := a.guard.Left()
	if f.once || f.saved != "" {
		left = slices.DeleteFunc(left, func(it trust.Item) bool { return !slices.Contains(needsTrust, it.Kind) })
	}
	if len(left) == 0 {
		return nil
	}
	if !a.global.input || f.json || f.once {
		a.fail(diag.List{{Summary: "Not everything that this campaign would do is trusted", Detail: "It would:\n\n" + trust.List(left) +
			"\nNobody can be asked here. Run `muster apply` at a terminal once, which shows and asks; or set " + trust.Env + "=1 where the campaign is your own, such as CI on a protected branch. Nothing was started."}})
		if f.once {
			return command.Changes
		}
		return command.Failed
	}
	return a.askTrust(left)
}

// trustPlaces is trustLeft for the places of jobs in flight, which a command about
// jobs has to reach.
func (a *app) trustPlaces(c *lang.Campaign, st *state.State) error {
	a.meetPlaces(c, st)
	return a.trustLeft(applyFlags{saved: "-"})
}

// meetPlaces notes the places of jobs in flight that are not trusted.
func (a *app) meetPlaces(c *lang.Campaign, st *state.State) {
	for _, j := range st.InFlight() {
		if at := j.Last(); at != nil {
			if conf, err := contact.Config(c, st, at.Backend); err == nil {
				_ = a.guard.Reach(conf)
			}
		}
	}
}

// askTrust shows items and asks this user to trust them.
func (a *app) askTrust(items []trust.Item) error {
	yes, err := a.ask(fmt.Sprintf("This campaign would do what you have not trusted yet:\n\n%s\nDo you trust this? It is remembered for you, by content: what changes is asked again. Only \"yes\" is a yes: ", trust.List(items)))
	if err != nil {
		return err
	}
	if !yes {
		a.printf("\nNothing was started.\n")
		return command.Failed
	}
	a.remember(items)
	return errTrusted
}

// remember trusts items. That they cannot be remembered stops nothing: they are
// asked for again.
func (a *app) remember(items []trust.Item) {
	if err := a.guard.Trust(items, a.now()); err != nil {
		a.notef("This is trusted for now, and cannot be remembered: %v.\n", err)
	}
}

// approved remembers what was met on the way to a plan that was approved on the
// command line, and lets the campaign run.
func (a *app) approved(f applyFlags) {
	met, by := a.guard.Met(), "-auto-approve"
	if f.saved != "" {
		met, by = append(met, a.guard.Left()...), "this plan"
	}
	if len(met) > 0 {
		a.notef("Trusted from now on, by %s: %s.\n%s", by, trust.Summary(met), trust.List(met))
		a.remember(met)
	}
	a.guard.Grant()
}

// allowSecrets asks for the secrets of a campaign. They are read when jobs are
// submitted.
func (a *app) allowSecrets(c *lang.Campaign) {
	for _, p := range c.Phases {
		for _, s := range p.Secrets {
			a.guard.Allows(trust.OfSecret(s))
		}
	}
}
