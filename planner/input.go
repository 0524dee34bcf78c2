// Package planner makes a plan from a campaign, its state, observations and
// quotes. It is a pure function: it reads no clock, calls nothing and writes
// nothing, and the same inputs give the same plan, byte for byte.
//
// A Plan is a value: the actions of an apply, their reasons and their cost.
// People approve it, a file keeps it, and the engine carries it out.
//
//	campaign ──expand──▶ jobs ──┐
//	state ──refresh──▶ attempts ┴─diff─▶ actions ─gate─▶ smoke, pilot, run ─place─▶ placements ─forecast─▶ cost, walltime ─check─▶ plan
package planner

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/precedent"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Input is everything a plan depends on.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Observed Observed
	Pools    []offer.Pool
	Quotes   []place.Quoted
	// Can has the capabilities of each type of backend; a missing type has none.
	Can     map[string]offer.Capabilities
	Now     time.Time
	Options Options
	// Precedents are the results of other campaigns of the workspace.
	Precedents []precedent.Record
}

// Options force or narrow a plan.
type Options struct {
	Targets []string // selections; empty = everything
	Rerun   []string
	Accept  []string
	// Release are the ids of orphans to give back: machines with the campaign's label that its
	// state does not know.
	Release []string `json:",omitempty"`
	Destroy bool
	Outputs bool `json:",omitempty"` // with Destroy: delete recorded outputs, too
	// RefreshOnly finds out what happened and plans nothing.
	RefreshOnly bool   `json:",omitempty"`
	Reason      string // given by the person, kept with the plan
}

// Observed is the result of a refresh.
type Observed = observed.Refresh

// An Orphan is a rented resource the state does not know.
type orphan = observed.Orphan
