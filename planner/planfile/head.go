// Package planfile saves plans in files, and applies a file only if the
// campaign and its state are as reviewed. A file is a JSON head, binary rows
// and a checksum, mode 0600. Printing it starts no provider. It contains no
// commands, environments or other sensitive values.
package planfile

import (
	"encoding/json"
	"github.com/muster-run/muster/providers/offer"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// version is the version of the file format. A reader refuses newer ones.
const version = 1

// Meta has the parts of a file beyond the plan.
type Meta struct {
	Muster    string            // version that writes
	Providers map[string]string // version by provider type
	Input     planner.Input     // the plan's input
}

// A Head is everything in a file that does not grow with the number of jobs.
type Head struct {
	Format    int               `json:"format"`
	Muster    string            `json:"muster"`
	Providers map[string]string `json:"providers,omitempty"`

	ID       string            `json:"id"`
	Body     string            `json:"body,omitempty"` // see planner.IDOf
	Campaign string            `json:"campaign"`
	Digest   string            `json:"digest"`
	Files    map[string]string `json:"files,omitempty"` // digest by name, to name the changed ones
	Lineage  string            `json:"lineage,omitempty"`
	Serial   uint64            `json:"serial"`
	Now      time.Time         `json:"now"`
	Reason   string            `json:"reason,omitempty"`
	Options  planner.Options   `json:"options"`

	Backends  []planner.BackendView `json:"backends,omitempty"`
	Phases    []Phase               `json:"phases"`
	Loose     []Row                 `json:"loose,omitempty"`
	Transfers []planner.Transfer    `json:"transfers,omitempty"`
	Notes     []string              `json:"notes,omitempty"`
	Forecast  forecast.Forecast     `json:"forecast"`
	Budgets   []planner.BudgetCheck `json:"budgets,omitempty"`
	Ceiling   state.Amounts         `json:"ceiling,omitempty"`
	Asks      []string              `json:"asks,omitempty"`
	Second    planner.SecondLook    `json:"second_look,omitzero"`
	Counts    planner.Counts        `json:"counts"`
	Quotes    []place.Quoted        `json:"quotes,omitempty"`
	Faster    []planner.Faster      `json:"faster,omitempty"`
	Risks     []planner.Risk        `json:"risks,omitempty"`
	Inside    string                `json:"inside,omitempty"`

	// Variables are the values it was made with, as JSON, by name. Of a
	// sensitive one there is only the name, in Sensitive.
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
	Sensitive []string                   `json:"sensitive,omitempty"`

	Tolerance float64   `json:"price_tolerance"`
	Warnings  []warning `json:"warnings,omitempty"`
}

// A Phase is the part of a phase's plan that is not by cell.
type Phase struct {
	Name        string               `json:"name"`
	Cells       int                  `json:"cells"`
	Placements  []place.Decision     `json:"placements,omitempty"`
	After       [][]place.Fallback   `json:"after,omitempty"` // as in planner.PhasePlan
	Smoke       *planner.Gate        `json:"smoke,omitempty"`
	Pilot       []int                `json:"pilot,omitempty"`
	Hold        string               `json:"hold,omitempty"`
	Reread      *planner.Rereading   `json:"reread,omitempty"`
	Source      planner.SourceDigest `json:"source"`
	Images      []string             `json:"images,omitempty"`
	SmokeImages []string             `json:"smoke_images,omitempty"`
	ImageStamps map[string]uint64    `json:"image_stamps,omitempty"`
	// Raw are the files of inputs that no phase makes, as in planner.PhasePlan.
	Raw map[string][][]result.File `json:"raw,omitempty"`
}

// A Row is a row of the plan outside the wanted cells.
type Row struct {
	Kind    planner.Kind `json:"kind"`
	Address string       `json:"address"`
	Backend string       `json:"backend,omitempty"`
	Release bool         `json:"release,omitempty"`
	Orphan  bool         `json:"orphan,omitempty"`
	PerHour string       `json:"per_hour,omitempty"`
	Away    bool         `json:"away,omitempty"`
	Detail  Detail       `json:"detail"`
	Before  Before       `json:"before"`
}

// A Detail is why a job gets its action.
type Detail struct {
	Reasons  []planner.Reason `json:"reasons,omitempty"`
	From     string           `json:"from,omitempty"`
	Waits    []string         `json:"waits,omitempty"`
	Text     string           `json:"text,omitempty"`
	Destroy  bool             `json:"destroy,omitempty"`
	Same     bool             `json:"same,omitempty"`
	Computed string           `json:"computed,omitempty"`
	Seen     []state.Output   `json:"seen,omitempty"`
	Foreign  []offer.Output   `json:"foreign,omitempty"`
	Whose    string           `json:"whose,omitempty"`
	At       string           `json:"at,omitempty"`
	Ran      bool             `json:"ran,omitempty"`
}

// A Before is an action's precondition: the record as the plan saw it.
type Before struct {
	Status  state.Status `json:"status,omitempty"` // "" = no record
	Attempt int          `json:"attempt,omitempty"`
	Result  string       `json:"result,omitempty"`
}

// A Warning is a warning shown when the plan was made.
type warning struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	Address string `json:"address,omitempty"`
}

// before is the precondition of an action on a record.
func before(job *state.Job) Before {
	if job == nil {
		return Before{}
	}
	b := Before{Status: job.Status, Result: job.Result}
	if n := len(job.Attempts); n > 0 {
		b.Attempt = max(job.Attempts[n-1].N, 1)
	}
	return b
}

func detail(d planner.Detail) Detail {
	out := Detail{Reasons: d.Reasons, From: d.From, Waits: d.Waits, Text: d.Text, Destroy: d.Destroy, Same: d.Same, Seen: d.Seen, Foreign: d.Foreign, Whose: d.Whose, At: d.At, Ran: d.Ran}
	if !d.Computed.IsZero() {
		out.Computed = d.Computed.String()
	}
	return out
}

func (d Detail) plan() planner.Detail {
	out := planner.Detail{Reasons: d.Reasons, From: d.From, Waits: d.Waits, Text: d.Text, Destroy: d.Destroy, Same: d.Same, Seen: d.Seen, Foreign: d.Foreign, Whose: d.Whose, At: d.At, Ran: d.Ran}
	out.Computed, _ = result.ParseHash(d.Computed)
	return out
}
