package main

import (
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// choose resolves the addresses on the command line.
func (ws *workspace) choose(c *lang.Campaign, st *state.State, args []string) (selection.Jobs, error) {
	jobs, diags := selection.Of(c, st, args)
	return jobs, ws.report(diags)
}

// chooseOne resolves an address that must mean one job.
func (ws *workspace) chooseOne(c *lang.Campaign, st *state.State, arg string) (string, error) {
	jobs, err := ws.choose(c, st, []string{arg})
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
func (ws *workspace) jobAddresses(begun string) []string {
	c, diags := ws.load(varFlags{}, true)
	if diags.HasErrors() {
		return nil
	}
	return selection.Proposed(c, begun)
}
