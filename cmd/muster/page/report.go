package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// A Report is the JSON of `muster report -json`.
type Report struct {
	FormatVersion string          `json:"format_version"`
	Campaign      string          `json:"campaign"`
	Description   string          `json:"description,omitempty"`
	Phases        []phaseReport   `json:"phases"`
	History       []historyReport `json:"history"` // of phases of which a launch ended
	Jobs          []jobReport     `json:"jobs"`
	Results       []resultReport  `json:"results"`
	Spent         state.Amounts   `json:"spent"`
	Unpriced      map[string]int  `json:"unpriced"`          // by unit, as in Cost
	Planned       *Planned        `json:"planned,omitempty"` // as in Cost
	Empty         []EmptyOutput   `json:"empty,omitempty"`
	Totals        Totals          `json:"totals"`
	Next          []string        `json:"next"`             // what to type, most urgent first
	Runs          []CodeOfPlan    `json:"runs"`             // the plans that launched these jobs
	Notes         []state.Note    `json:"notes,omitempty"`  // on these jobs and their phases
	Rounds        []roundReport   `json:"rounds,omitempty"` // phases with a trial block
	Search        []string        `json:"search,omitempty"` // for each round with jobs left, what it waits for
	Began         time.Time       `json:"began,omitzero"`   // the first submission of a job that ended
	Ended         time.Time       `json:"ended,omitzero"`   // the last end of one

	asked []string // as in Cost
}

type phaseReport struct {
	Phase     string  `json:"phase"`
	Jobs      int     `json:"jobs"`
	Completed int     `json:"completed"`
	Adopted   int     `json:"adopted"` // of those completed: their files were adopted
	Retried   int     `json:"retried"`
	Failed    int     `json:"failed"` // failed or held now
	Median    float64 `json:"median_seconds"`
	Longest   float64 `json:"longest_seconds"`
	Queued    float64 `json:"queue_seconds"` // the median of History
}

type jobReport struct {
	Address  string                     `json:"address"`
	Phase    string                     `json:"phase"`
	Name     string                     `json:"name,omitempty"`
	Axes     map[string]string          `json:"axes,omitempty"`
	Status   string                     `json:"status"`
	Class    string                     `json:"class,omitempty"`
	Attempts int                        `json:"attempts"`
	Backend  string                     `json:"backend,omitempty"`
	Pool     string                     `json:"pool,omitempty"`
	Node     string                     `json:"node,omitempty"`
	GPUs     []string                   `json:"gpus,omitempty"`
	Driver   string                     `json:"driver,omitempty"`          // version of the GPUs' driver on Node
	Plan     string                     `json:"plan,omitempty"`            // that launched it last, in Runs
	Why      string                     `json:"why,omitempty"`             // why it went there
	Planned  float64                    `json:"planned_seconds,omitempty"` // expected at its launch
	Ratio    float64                    `json:"ratio,omitempty"`           // of Seconds to that, of a completed job
	Seconds  float64                    `json:"seconds"`
	CPU      float64                    `json:"cpu_seconds"` // -1 = unknown
	MaxRSS   int64                      `json:"max_rss"`     // bytes; -1 = unknown
	GPUMax   int64                      `json:"gpu_max_mem"` // bytes, the most on one GPU; -1 = unknown
	Started  time.Time                  `json:"started,omitzero"`
	Ended    time.Time                  `json:"ended,omitzero"`
	Failures []string                   `json:"failures,omitempty"` // class of each failed attempt
	Adopted  *Adoption                  `json:"adopted,omitempty"`  // its result is files that somebody had adopted
	Mark     history.Mark               `json:"mark,omitempty"`     // "suspect": it completed in less than a tenth of the time of others
	Metrics  map[string]json.RawMessage `json:"metrics,omitempty"`
	Without  []planner.Lack             `json:"without,omitempty"` // producers that it went on without
	Unread   map[string]string          `json:"unread,omitempty"`  // metrics without a value, and why
}

// unpriced says in which units more was spent than is known.
func (r Report) unpriced() (text string) {
	for _, unit := range slices.Sorted(maps.Keys(r.Unpriced)) {
		text += "; the use of " + units.Count(r.Unpriced[unit], "attempt") + " in " + amount.Unit(unit) + " is unknown"
	}
	return text
}

func ReportOf(c *lang.Campaign, st *state.State, s selection.Jobs) Report {
	r := Report{FormatVersion: FormatVersion, Campaign: c.Name, Description: c.Description, Jobs: []jobReport{}, Phases: []phaseReport{}, Spent: state.Amounts{}, Unpriced: map[string]int{}}
	r.Results = OutputsOf(c, st, s).Results
	r.History = historyOf(c, st, s)
	r.Planned = plannedOf(c, st)
	r.asked = asked(c)
	r.Empty = emptyOutputs(c, s, st)
	r.Notes = notesOn(c, st, s)
	r.Rounds, r.Search = roundsOf(c, st), searchOf(c, st)
	for _, e := range st.Ledger {
		r.Spent.Add(e.Spent.Map())
		for _, unit := range e.Unpriced {
			r.Unpriced[unit]++
		}
	}
	var fits fit.Budget
	stuck := explain.Stuck(c, st, func(j *state.Job) *state.Job { return j })
	for _, p := range c.Phases {
		ph := phaseReport{Phase: p.Name, Jobs: p.Len()}
		var ran []float64
		records := make([]*state.Job, p.Len())
		for i := range records {
			records[i] = st.Recalled(p.Address(i))
		}
		pace := history.PaceOf(p, records, st.Definitions, &fits)
		for i := range p.Len() {
			j := records[i]
			if s.Has(p.Address(i)) {
				r.Totals.take(j, stuck[p.Address(i)])
			}
			if j == nil || !s.Has(j.Address) {
				continue
			}
			jr := jobReportOf(p, j, st)
			jr.Mark, _, _ = pace.Completed(i)
			r.Jobs = append(r.Jobs, jr)
			r.span(j)
			ph.count(p, j)
			if jr.Seconds > 0 {
				ran = append(ran, jr.Seconds)
			}
		}
		ph.Median, ph.Longest = median(ran), longest(ran)
		for _, h := range r.History {
			if h.Phase == p.Name {
				ph.Queued = h.Median.Queue
			}
		}
		r.Phases = append(r.Phases, ph)
	}
	r.Runs, r.Next = runsOf(st, r.Jobs), r.Totals.next(len(r.Jobs))
	return r
}

// historyOf is where the time of the selected jobs went, and their use of the resources that
// they asked for.
func historyOf(c *lang.Campaign, st *state.State, s selection.Jobs) []historyReport {
	out := []historyReport{}
	for _, h := range advice.HistoryOf(advice.Input{Campaign: c, State: st}, s.Has) {
		out = append(out, historyReportOf(h))
	}
	return out
}

// span takes a job that ended into the time from the first submission to the last
// end. Submissions have this machine's clock; starts before the last may have that of
// a host whose clock was set since. An adopted job never ran, so it does not count.
func (r *Report) span(j *state.Job) {
	last := j.Last()
	if last == nil || j.Adopted() || last.Started.IsZero() || last.Ended.IsZero() {
		return
	}
	if first := submitted(j); r.Began.IsZero() || first.Before(r.Began) {
		r.Began = first
	}
	if last.Ended.After(r.Ended) {
		r.Ended = last.Ended
	}
}

// submitted is when a job was first submitted, as far as that is recorded.
func submitted(j *state.Job) time.Time {
	for _, at := range []time.Time{j.Attempts[0].Queued, j.Attempts[0].Intent} {
		if !at.IsZero() {
			return at
		}
	}
	return j.Last().Started
}

func (ph *phaseReport) count(p *lang.Phase, j *state.Job) {
	if j.Status == state.Completed {
		ph.Completed++
	}
	if j.Adopted() {
		ph.Adopted++
	}
	if j.Status == state.Failed || j.Status == state.Held {
		ph.Failed++
	}
	for k := range j.Attempts {
		if k > 0 && !history.GoesOn(p, j, k-1) {
			ph.Retried++
			break
		}
	}
}

func jobReportOf(p *lang.Phase, j *state.Job, st *state.State) jobReport {
	r := jobReport{Address: j.Address, Phase: j.Phase, Name: j.Name, Axes: j.Axes.Map(), Status: string(j.Status), Class: j.Class, Attempts: len(j.Attempts), CPU: -1, MaxRSS: -1, GPUMax: -1, Metrics: map[string]json.RawMessage{}}
	r.Unread, r.Without = j.Unread, planner.Lacks(p, j, st)
	for name, text := range j.Metrics {
		r.Metrics[name] = json.RawMessage(text)
	}
	for k, at := range j.Attempts {
		if at.Class != "" && !history.GoesOn(p, j, k) {
			r.Failures = append(r.Failures, at.Class)
		}
	}
	if r.Adopted = adoptionOf(j); r.Adopted != nil {
		r.Attempts, r.Backend = 0, j.Last().Backend
		return r
	}
	if last := j.Last(); last != nil {
		r.Backend, r.Started, r.Ended = last.Backend, last.Started, last.Ended
		r.Pool, r.Node, r.GPUs, r.Driver, r.Plan, r.Why, r.Planned = last.Pool, last.Node, last.GPUs, last.Driver, last.Plan, last.Why, last.Planned
		if !last.Ended.IsZero() && !last.Started.IsZero() {
			r.Seconds = last.Ended.Sub(last.Started).Seconds() + history.Before(p, j).Seconds()
		}
		if j.Status == state.Completed && r.Planned > 0 && r.Seconds > 0 {
			r.Ratio = r.Seconds / r.Planned
		}
		if last.Usage != nil {
			r.CPU, r.MaxRSS, r.GPUMax = last.Usage.CPU, last.Usage.MaxRSS, last.Usage.GPUMaxMem
		}
	}
	return r
}

// An Adoption says who had files adopted, and when.
type Adoption struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Ran says that a launch of the job made the files, and exited 0.
	Ran bool `json:"ran,omitempty"`
}

// adoptionOf is that of a job's result, nil where there was none.
func adoptionOf(j *state.Job) *Adoption {
	if !j.Adopted() {
		return nil
	}
	return &Adoption{j.Last().Adopter, j.Last().Ended, j.Last().Exit != nil}
}

func (a *Adoption) text() string {
	made := "not run by muster"
	if a.Ran {
		made = "made by an earlier launch of the job"
	}
	return fmt.Sprintf("adopted on %s by %s, %s", a.At.Format("2006-01-02"), term.CleanLine(a.By), made)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func longest(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}
