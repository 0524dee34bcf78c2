package planfile

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// FormatVersion is the version of the JSON documents: a new minor number adds
// fields, a new major number changes or removes some.
const FormatVersion = "1.0"

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

	Counts    Counts         `json:"counts"`
	Backends  []Backend      `json:"backends,omitempty"`
	Phases    []PhaseSummary `json:"phases"`
	Other     []Other        `json:"other,omitempty"` // rows about jobs not wanted and resources
	Transfers []Transfer     `json:"transfers,omitempty"`
	Cost      []Cost         `json:"cost"`
	Walltime  Walltime       `json:"walltime"`
	Critical  []string       `json:"critical_path,omitempty"`
	Budgets   []Budget       `json:"budgets,omitempty"`
	Ceiling   state.Amounts  `json:"ceiling,omitempty"`
	Asks      []string       `json:"needs_saved_plan,omitempty"`
	Basis     []string       `json:"basis,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
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
	Forget     int `json:"forget"`
	Release    int `json:"release"`
	Record     int `json:"record"`
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
	Name         string  `json:"name"`
	Jobs         int     `json:"jobs"`
	SourceDigest string  `json:"source_digest,omitempty"`
	SourceCommit string  `json:"source_commit,omitempty"`
	SourceDirty  bool    `json:"source_dirty,omitempty"`
	Hold         string  `json:"hold,omitempty"`
	Smoke        *Smoke  `json:"smoke,omitempty"`
	Places       []Place `json:"places,omitempty"`
}

// Smoke is what a gate does, in counts of cells.
type Smoke struct {
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
}

// Job is one job of the plan.
type Job struct {
	Type    string          `json:"type"` // "job"
	Address string          `json:"address"`
	Phase   string          `json:"phase"`
	Key     string          `json:"key,omitempty"`
	Action  string          `json:"action"`
	Backend string          `json:"backend,omitempty"`
	Pool    string          `json:"pool,omitempty"`
	Result  string          `json:"result"`
	Pilot   bool            `json:"pilot,omitempty"`
	Destroy bool            `json:"needs_approval,omitempty"`
	Reasons []Reason        `json:"reasons,omitempty"`
	From    string          `json:"from,omitempty"`
	Waits   []string        `json:"waits_for,omitempty"`
	Text    string          `json:"text,omitempty"`
	Before  *BeforeDocument `json:"before,omitempty"`
}

// BeforeDocument is the record an action starts from.
type BeforeDocument struct {
	Status  string `json:"status"`
	Attempt int    `json:"attempt,omitempty"`
	Result  string `json:"result,omitempty"`
}

// Reason is one cause: which field, from what, to what.
type Reason struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
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

// Budget is how a budget stands.
type Budget struct {
	Name     string        `json:"name"`
	Limits   state.Amounts `json:"limits"`
	Spent    state.Amounts `json:"spent,omitempty"`
	Deadline *time.Time    `json:"deadline,omitempty"`
	Broken   []string      `json:"broken,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Left     int           `json:"jobs_that_may_be_left,omitempty"`
}

// NewDocument makes the document of a plan, less its jobs.
func NewDocument(p *planner.Plan, muster string) Document {
	d := Document{
		FormatVersion: FormatVersion, Type: "plan", Muster: muster, ID: p.ID, Campaign: p.Campaign, Digest: p.Digest, Lineage: p.Lineage, Serial: p.Serial,
		Now: p.Now, Reason: p.Reason, Destroy: p.Destroy, Counts: countsOf(p.Counts), Critical: p.Forecast.Critical, Ceiling: p.Ceiling, Asks: p.Asks,
		Basis: p.Forecast.Basis, Notes: p.Notes, Phases: []PhaseSummary{}, Cost: []Cost{},
		Walltime: Walltime{p.Forecast.Walltime.P50.Seconds(), p.Forecast.Walltime.P90.Seconds(), marks[p.Forecast.Walltime.Mark]},
	}
	for _, b := range p.Backends {
		d.Backends = append(d.Backends, Backend(b))
	}
	for _, pp := range p.Phases {
		d.Phases = append(d.Phases, phaseSummary(pp))
	}
	for _, r := range p.Loose {
		d.Other = append(d.Other, other(r))
	}
	for _, t := range p.Transfers {
		d.Transfers = append(d.Transfers, transfer(t))
	}
	for _, l := range p.Forecast.Lines {
		d.Cost = append(d.Cost, Cost{l.Unit, figure(l.Expected), figure(l.P90), figure(l.AtMost)})
	}
	for _, b := range p.Budgets {
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

// WriteJSON writes one document: the plan, then its jobs as the member
// "jobs", one a line, so that it streams at any size. Members in more are
// added at the end, diagnostics for instance.
func WriteJSON(w io.Writer, p *planner.Plan, muster string, more map[string]any) error {
	out := bufio.NewWriterSize(w, 1<<16)
	head, err := json.Marshal(NewDocument(p, muster))
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1]) // leave it open
	for _, name := range sortedNames(more) {
		text, err := json.Marshal(more[name])
		if err != nil {
			return err
		}
		label, _ := json.Marshal(name)
		out.WriteByte(',')
		out.Write(label)
		out.WriteByte(':')
		out.Write(text)
	}
	out.WriteString(`,"jobs":[`)
	sep := "\n"
	err = EachJob(p, func(j Job) error {
		text, err := json.Marshal(j)
		out.WriteString(sep)
		out.Write(text)
		sep = ",\n"
		return err
	})
	if err != nil {
		return err
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// WriteJSONL writes one object a line: the plan, then every job.
func WriteJSONL(w io.Writer, p *planner.Plan, muster string) error {
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	if err := enc.Encode(NewDocument(p, muster)); err != nil {
		return err
	}
	if err := EachJob(p, func(j Job) error { return enc.Encode(j) }); err != nil {
		return err
	}
	return out.Flush()
}

// EachJob calls fn with every job of the plan, in campaign order.
func EachJob(p *planner.Plan, fn func(Job) error) error {
	for _, pp := range p.Phases {
		pilot := map[int]bool{}
		for _, i := range pp.Pilot {
			pilot[i] = true
		}
		for i, k := range pp.Kind {
			j := job(pp.Phase, k, pp.Detail(i))
			j.Address, j.Key, j.Result, j.Pilot = pp.Phase.Address(i), pp.Phase.Key(i), pp.Result[i].String(), pilot[i]
			if k.Starts() {
				d := pp.Decision(i)
				j.Backend, j.Pool = d.Backend, d.Pool
			}
			if rec := pp.Record(i); rec != nil {
				b := before(rec)
				j.Before = &BeforeDocument{string(b.Status), b.Attempt, b.Result}
			}
			if err := fn(j); err != nil {
				return err
			}
		}
	}
	return nil
}

func job(p *lang.Phase, k planner.Kind, d planner.Detail) Job {
	return Job{Type: "job", Phase: p.Name, Action: k.String(), Destroy: d.Destroy || k.Destroys(), Reasons: reasons(d.Reasons), From: d.From, Waits: d.Waits, Text: d.Text}
}
