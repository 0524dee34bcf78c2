package planfile

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// FormatVersion is the version of the JSON documents: a new minor number adds
// fields, a new major number changes or removes some.
const FormatVersion = "1.1"

// A Document is a plan for machines, less its jobs, which are streamed after
// it: docs/reference/plan.md.
type Document struct {
	FormatVersion string    `json:"format_version"`
	Type          string    `json:"type"` // "plan"
	Muster        string    `json:"muster,omitempty"`
	ID            string    `json:"id"`
	Campaign      string    `json:"campaign"`
	Digest        string    `json:"digest,omitempty"`
	Lineage       string    `json:"lineage,omitempty"`
	Serial        uint64    `json:"serial"`
	Now           time.Time `json:"now"`
	Reason        string    `json:"reason,omitempty"`
	Destroy       bool      `json:"destroy,omitempty"`
	RefreshOnly   bool      `json:"refresh_only,omitempty"`

	Counts    Counts              `json:"counts"`
	Backends  []Backend           `json:"backends,omitempty"`
	Phases    []PhaseSummary      `json:"phases"`
	Other     []Other             `json:"other,omitempty"` // rows about jobs not wanted and resources
	Transfers []Transfer          `json:"transfers,omitempty"`
	Cost      []Cost              `json:"cost"`
	ByPhase   []CostOf            `json:"cost_by_phase,omitempty"`
	ByBackend []CostOf            `json:"cost_by_backend,omitempty"`
	ByPool    []CostOf            `json:"cost_by_pool,omitempty"`
	Walltime  Walltime            `json:"walltime"`
	Critical  []string            `json:"critical_path,omitempty"`
	Faster    []Faster            `json:"faster,omitempty"`
	Budgets   []Budget            `json:"budgets,omitempty"`
	Inside    string              `json:"inside_budgets,omitempty"` // in one sentence
	Risks     []planner.Risk      `json:"risks,omitempty"`
	Ceiling   state.Amounts       `json:"ceiling,omitempty"`
	Asks      []string            `json:"needs_saved_plan,omitempty"`
	Second    *planner.SecondLook `json:"second_look,omitempty"`
	Basis     []string            `json:"basis,omitempty"`
	Notes     []string            `json:"notes,omitempty"`
}

// Faster is one thing that would make the plan end sooner.
type Faster struct {
	What    string            `json:"what"`
	End     float64           `json:"p50_seconds"`
	Saves   float64           `json:"saves_seconds"`
	Costs   map[string]string `json:"adds,omitempty"` // to the expected cost, by unit
	Unknown bool              `json:"cost_unknown,omitempty"`
}

// Counts is the summary line.
type Counts struct {
	Run        int `json:"run"`
	Rerun      int `json:"rerun"`
	Cancel     int `json:"cancel"`
	Unchanged  int `json:"unchanged"`
	Smoke      int `json:"smoke"`
	Retry      int `json:"retry"`
	Resubmit   int `json:"resubmit"`
	Continue   int `json:"continue"`
	Adopt      int `json:"adopt"`
	Move       int `json:"move"`
	Accept     int `json:"accept"`
	Held       int `json:"held"`
	Blocked    int `json:"blocked"`
	Unknown    int `json:"unknown"`
	Missing    int `json:"missing"`
	InputBytes int `json:"input_bytes_changed"`
	// OutputBytes are jobs that were done and whose outputs hold other bytes now.
	OutputBytes int `json:"output_changed"`
	// Restore are jobs whose earlier result is put back, and that do not run.
	Restore int `json:"restore"`
	// AdoptFiles are jobs that take files that are there for their result, and that do not run.
	AdoptFiles int `json:"adopt_files"`
	Forget     int `json:"forget"`
	Release    int `json:"release"`
	Record     int `json:"record"`
	Delete     int `json:"delete,omitempty"` // recorded outputs
	Reread     int `json:"reread,omitempty"` // completed jobs with metrics that are read again
	Selected   int `json:"selected"`
	Total      int `json:"total"`
}

// Backend is a line about a backend.
type Backend struct {
	Name     string `json:"name"`
	Summary  string `json:"summary,omitempty"`
	Facts    string `json:"facts,omitempty"`
	Problem  string `json:"problem,omitempty"`
	Fallback string `json:"fallback,omitempty"`
}

// PhaseSummary is a phase without its jobs.
type PhaseSummary struct {
	Name         string `json:"name"`
	Jobs         int    `json:"jobs"`
	SourceDigest string `json:"source_digest,omitempty"`
	SourceCommit string `json:"source_commit,omitempty"`
	SourceDirty  bool   `json:"source_dirty,omitempty"`
	Hold         string `json:"hold,omitempty"`
	// Reread are metrics read again from the outputs of completed jobs.
	Reread *planner.Rereading `json:"reread,omitempty"`
	Smoke  *smoke             `json:"smoke,omitempty"`
	Places []Place            `json:"places,omitempty"`
}

// smoke is the state of a gate, in counts of cells.
type smoke struct {
	Run      int    `json:"run"`
	Passed   int    `json:"passed"`
	Failed   int    `json:"failed"`
	Running  int    `json:"running"`
	Place    *Place `json:"place,omitempty"`
	Text     string `json:"text,omitempty"`
	Override string `json:"override,omitempty"`
}

// Place is a placement and why.
type Place struct {
	Backend  string  `json:"backend"`
	Pool     string  `json:"pool,omitempty"`
	GPUs     int     `json:"gpus,omitempty"`
	CPUs     int     `json:"cpus,omitempty"`
	Memory   int64   `json:"memory,omitempty"`
	Walltime float64 `json:"walltime_seconds,omitempty"`
	Wait     float64 `json:"wait_seconds"` // -1: unknown
	Segments int     `json:"segments,omitempty"`
	Rule     string  `json:"rule,omitempty"`
	Why      string  `json:"why,omitempty"`
	Fallback string  `json:"fallback,omitempty"`
	After    []after `json:"after,omitempty"`
}

// after is where launches go after a failure of a class that moves jobs, and the most
// that one takes there, by unit.
type after struct {
	Class  string        `json:"class"`
	Place  Place         `json:"place"`
	AtMost state.Amounts `json:"at_most,omitempty"`
}

// Job is one job of the plan.
type Job struct {
	Type    string   `json:"type"` // "job"
	Address string   `json:"address"`
	Phase   string   `json:"phase"`
	Key     string   `json:"key,omitempty"`
	Action  string   `json:"action"`
	Backend string   `json:"backend,omitempty"`
	Pool    string   `json:"pool,omitempty"`
	Result  string   `json:"result"`
	Pilot   bool     `json:"pilot,omitempty"`
	Destroy bool     `json:"needs_approval,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"`
	From    string   `json:"from,omitempty"`
	Waits   []string `json:"waits_for,omitempty"`
	Text    string   `json:"text,omitempty"`
	// Replaces are files at output paths that the job did not make; see needs_approval.
	Replaces []string        `json:"replaces,omitempty"`
	Before   *BeforeDocument `json:"before,omitempty"`

	starts bool
}

// BeforeDocument is the record an action starts from.
type BeforeDocument struct {
	Status  string `json:"status"`
	Attempt int    `json:"attempt,omitempty"`
	Result  string `json:"result,omitempty"`
}

// Reason is one cause: the field, its old and its new value.
type Reason struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	Files string `json:"files,omitempty"` // whose bytes differ: the first and how many more
}

// Other is a row outside the wanted jobs.
type Other struct {
	Address string   `json:"address"`
	Action  string   `json:"action"` // also "release" and "orphan"
	Backend string   `json:"backend,omitempty"`
	PerHour string   `json:"usd_per_hour,omitempty"`
	Destroy bool     `json:"needs_approval,omitempty"`
	Text    string   `json:"text,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"`
}

// Transfer moves files between backends.
type Transfer struct {
	Phase     string `json:"phase"`
	Input     string `json:"input"`
	From      string `json:"from"`
	To        string `json:"to"`
	Direction string `json:"direction"` // "push" or "pull"
	Files     int    `json:"files"`
	Bytes     *int64 `json:"bytes"` // null: known after
	After     string `json:"known_after,omitempty"`
	// Cost is absent where nothing is billed.
	Cost *transferCost `json:"cost,omitempty"`
}

// transferCost is the cost of a transfer in money where its origin bills
// egress. Amounts are null while nobody knows how large the files will be.
type transferCost struct {
	PerGB    string  `json:"usd_per_gb"`
	Expected *string `json:"expected"`
	AtMost   *string `json:"at_most"`
	Mark     string  `json:"mark"` // "known", "estimated", "unknown"
}

// CostOf is the part of a phase, a backend or a pool.
type CostOf struct {
	Of   string `json:"of"`
	Cost []Cost `json:"cost"`
}

// costsOf are the parts of a sum, by name.
func costsOf(parts map[string][]forecast.CostLine) (out []CostOf) {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		c := CostOf{Of: name, Cost: []Cost{}}
		for _, l := range parts[name] {
			c.Cost = append(c.Cost, Cost{l.Unit, figure(l.Expected), figure(l.P90), figure(l.AtMost)})
		}
		out = append(out, c)
	}
	return out
}

// Cost is one unit of the cost table.
type Cost struct {
	Unit     string `json:"unit"`
	Expected Figure `json:"expected"`
	P90      Figure `json:"p90"`
	AtMost   Figure `json:"at_most"`
}

// Figure is an amount and how well it is known.
type Figure struct {
	Amount *string `json:"amount"` // null: unknown
	Mark   string  `json:"mark"`   // "known", "estimated", "unknown"
}

// Walltime is in seconds.
type Walltime struct {
	P50  float64 `json:"p50_seconds"`
	P90  float64 `json:"p90_seconds"`
	Mark string  `json:"mark"`
}

// Budget is a budget, its use and whether it holds.
type Budget struct {
	Name     string        `json:"name"`
	Limits   state.Amounts `json:"limits"`
	Spent    state.Amounts `json:"spent,omitempty"`
	Deadline *time.Time    `json:"deadline,omitempty"`
	Broken   []string      `json:"broken,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Left     int           `json:"jobs_that_may_be_left,omitempty"`
}

// newDocument makes the document of a plan, less its jobs.
func newDocument(p *planner.Plan, muster string) Document {
	return headOf(p, Meta{Muster: muster}).document()
}

func (h Head) document() Document {
	d := Document{
		FormatVersion: FormatVersion, Type: "plan", Muster: h.Muster, ID: h.ID, Campaign: h.Campaign, Digest: h.Digest, Lineage: h.Lineage, Serial: h.Serial,
		Now: h.Now, Reason: h.Reason, Destroy: h.Options.Destroy, RefreshOnly: h.Options.RefreshOnly, Counts: countsOf(h.Counts), Critical: h.Forecast.Critical, Ceiling: h.Ceiling, Asks: h.Asks,
		Basis: h.Forecast.Basis, Notes: h.Notes, Risks: h.Risks, Inside: h.Inside, Phases: []PhaseSummary{}, Cost: []Cost{},
		Walltime: Walltime{h.Forecast.Walltime.P50.Seconds(), h.Forecast.Walltime.P90.Seconds(), marks[h.Forecast.Walltime.Mark]},
	}
	if h.Second.Approvals > 0 {
		d.Second = &h.Second
	}
	for _, b := range h.Backends {
		d.Backends = append(d.Backends, Backend(b))
	}
	for _, p := range h.Phases {
		d.Phases = append(d.Phases, phaseSummary(p))
	}
	for _, r := range h.Loose {
		d.Other = append(d.Other, other(r))
	}
	for _, t := range h.Transfers {
		d.Transfers = append(d.Transfers, transfer(t))
	}
	d.ByPhase, d.ByBackend, d.ByPool = costsOf(h.Forecast.ByPhase), costsOf(h.Forecast.ByBackend), costsOf(h.Forecast.ByPool)
	for _, l := range h.Forecast.All() {
		d.Cost = append(d.Cost, Cost{l.Unit, figure(l.Expected), figure(l.P90), figure(l.AtMost)})
	}
	for _, f := range h.Faster {
		d.Faster = append(d.Faster, Faster{f.What, f.End.Seconds(), f.Saves.Seconds(), f.Costs, f.Unknown})
	}
	for _, b := range h.Budgets {
		out := Budget{Name: b.Name, Limits: b.Limits, Spent: b.Spent, Broken: b.Broken, Warnings: b.Warn, Left: b.Left}
		if !b.Deadline.IsZero() {
			out.Deadline = &b.Deadline
		}
		d.Budgets = append(d.Budgets, out)
	}
	return d
}

var marks = map[forecast.Mark]string{forecast.Known: "known", forecast.Estimated: "estimated", forecast.Unknown: "unknown"}

func figure(f forecast.Figure) Figure {
	out := Figure{Mark: marks[f.Mark]}
	if f.Mark != forecast.Unknown {
		out.Amount = &f.Text
	}
	return out
}
