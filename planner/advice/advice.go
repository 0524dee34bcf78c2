// Package advice compares the resources of a campaign with the measured use of
// its jobs. It proposes changed lines and estimates their savings. It changes
// nothing: a person edits the campaign, and the next plan shows the difference.
package advice

import (
	"fmt"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// The least evidence of a proposal, and how far it goes beyond the evidence.
// The sources are the rules by which people size jobs on shared clusters.
const (
	// enough is how many measured launches outweigh a guess; the forecast
	// takes as many.
	enough = 3
	// offBy is the factor by which a request may exceed its use before muster reports it, here
	// and in a plan.
	offBy = 2
	// aboveUse multiplies the highest use of memory or cores: the request after an
	// out-of-memory kill is MaxRSS × 1.2.
	aboveUse = 1.2
	// aboveTime is added to the longest runtime: hours are estimated with a
	// buffer of 30 %.
	aboveTime = 1.3
	// often is the share of launches that fail alike from which a phase, and
	// not a corner of its grid, has the wrong size. The breaker warns from there.
	often = history.Often
)

// An Input is the evidence for advice.
type Input struct {
	Campaign *lang.Campaign
	State    *state.State
	Pools    []offer.Pool // as the backends report now; pools without facts are left out of savings
}

// A Report is the history of a campaign and what follows from it.
type Report struct {
	Launches  int // that ended
	Phases    []History
	Proposals []Proposal
	Notes     []string // jobs that could not be judged, and why
}

// Of draws the advice of a campaign.
func Of(in Input) Report {
	a := adviser{Input: in, editor: editor{in.Campaign.Files}}
	for _, g := range gather(in, nil) {
		n := len(g.launches)
		a.out.Launches += n
		if n > 0 {
			a.out.Phases = append(a.out.Phases, g.history())
		}
		if n < enough {
			if n > 0 {
				a.note("phase.%s: %s ended, and %d are needed to judge by", g.phase.Name, count(n, "launch", "launches"), enough)
			}
			a.out.Proposals = append(a.out.Proposals, a.smoked(g)...)
			continue
		}
		for _, rule := range rules {
			a.out.Proposals = append(a.out.Proposals, rule(&a, g)...)
		}
		a.failing(g)
	}
	a.out.Proposals = append(append(a.out.Proposals, a.promote()...), a.catalogue()...)
	return a.out
}

// rules are tried in this order on every phase that has a history.
var rules = []func(*adviser, *group) []Proposal{
	(*adviser).memory, (*adviser).walltime, (*adviser).cores, (*adviser).devices, (*adviser).smaller, (*adviser).place, (*adviser).split, (*adviser).launchedAgain,
}

type adviser struct {
	Input
	editor
	out  Report
	fits fit.Budget
}

func (a *adviser) note(format string, args ...any) {
	a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
}

// A Proposal is one change of the campaign, its figures, and its saving.
type Proposal struct {
	Phase  string
	Kind   string // "memory", "walltime", "cores", "gpus", "place", "split", "retry", "promote", "failure"
	Title  string // what to do, as a sentence without a period
	Jobs   string // which jobs, where these are not all of the phase
	Edit   Edit
	Why    string // the figures
	Margin string // the margin on top, "" for none
	Saves  []Saving
}

// A Saving is the past or future saving of a change: an amount by unit, or
// time that jobs wait.
type Saving struct {
	Unit   string // "usd", "service_units", "gpu_hours", "cpu_hours", "node_hours", "wait_hours", "run_hours"
	Amount string // decimal
	Of     string // "of the 30 jobs left", "of the 10 jobs that ran"
	AtMost bool   // of the approved ceiling, not of the expected cost
	// Estimated: by a price that is its provider's guess.
	Estimated bool
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
