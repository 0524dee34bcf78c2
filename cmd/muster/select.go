package main

import (
	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// choose resolves the addresses on the command line.
func (a *app) choose(c *lang.Campaign, st *state.State, args []string) (chosen.Jobs, error) {
	jobs, diags := chosen.Of(c, st, args)
	return jobs, a.report(diags)
}

// chooseOne resolves an address that must mean one job.
func (a *app) chooseOne(c *lang.Campaign, st *state.State, arg string) (string, error) {
	jobs, err := a.choose(c, st, []string{arg})
	if err != nil {
		return "", err
	}
	address, err := jobs.One(c, arg)
	if err != nil {
		return "", command.Usagef("%s", err)
	}
	return address, nil
}

// jobAddresses completes addresses from the campaign in this directory.
func (a *app) jobAddresses(begun string) []string {
	c, diags := a.load(varFlags{}, true)
	if diags.HasErrors() {
		return nil
	}
	return chosen.Proposed(c, begun)
}
