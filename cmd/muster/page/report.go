package page

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/lateness"
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
	Began         time.Time       `json:"began,omitzero"`

	asked []string // as in Cost

	Ended time.Time `json:"ended,omitzero"`
}

type phaseReport struct {
	Phase     string  `json:"phase"`
	Jobs      int     `json:"jobs"`
	Completed int     `json:"completed"`
	Retried   int     `json:"retried"`
	Failed    int     `json:"failed"` // failed or held now
	Median    float64 `json:"median_seconds"`
	Longest   float64 `json:"longest_seconds"`
	Queued    float64 `json:"queue_seconds"` // median wait from submission to start
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
	Seconds  float64                    `json:"seconds"`
	CPU      float64                    `json:"cpu_seconds"` // -1 = unknown
	MaxRSS   int64                      `json:"max_rss"`     // bytes; -1 = unknown
	GPUMax   int64                      `json:"gpu_max_mem"` // bytes, the most on one GPU; -1 = unknown
	Started  time.Time                  `json:"started,omitzero"`
	Ended    time.Time                  `json:"ended,omitzero"`
	Failures []string                   `json:"failures,omitempty"` // class of each failed attempt
	Mark     lateness.Mark              `json:"mark,omitempty"`     // "suspect": it completed in less than a tenth of what others took
	Metrics  map[string]json.RawMessage `json:"metrics,omitempty"`
	Unread   map[string]string          `json:"unread,omitempty"` // metrics without a value, and why
}

// unpriced says in which units more was spent than is known.
func (r Report) unpriced() (text string) {
	for _, unit := range slices.Sorted(maps.Keys(r.Unpriced)) {
		text += "; what " + units.Count(r.Unpriced[unit], "attempt") + " took in " + amount.Unit(unit) + " is not known"
	}
	return text
}

func ReportOf(c *lang.Campaign, st *state.State, s chosen.Jobs) Report {
	r := Report{FormatVersion: FormatVersion, Campaign: c.Name, Description: c.Description, Jobs: []jobReport{}, Phases: []phaseReport{}, Spent: state.Amounts{}, Unpriced: map[string]int{}}
	r.Results = OutputsOf(c, st, s).Results
	r.History = historyOf(c, st, s)
	r.Planned = plannedOf(c, st)
	r.asked = asked(c)
	r.Empty = emptyOutputs(c, s, st.Job)
	for _, e := range st.Ledger {
		r.Spent.Add(e.Spent)
		for _, unit := range e.Unpriced {
			r.Unpriced[unit]++
		}
	}
	for _, p := range c.Phases {
		ph := phaseReport{Phase: p.Name, Jobs: p.Len()}
		var ran, queued []float64
		records := make([]*state.Job, p.Len())
		for i := range records {
			records[i] = st.Recalled(p.Address(i))
		}
		pace := lateness.Of(p, records, st.Definitions)
		for i := range p.Len() {
			j := records[i]
			if j == nil || !s.Has(j.Address) {
				continue
			}
			jr := jobReportOf(p, j)
			jr.Mark, _, _ = pace.Completed(i)
			r.Jobs = append(r.Jobs, jr)
			r.span(jr)
			ph.count(p, j)
			if last := j.Last(); jr.Seconds > 0 && last != nil {
				ran = append(ran, jr.Seconds)
				if !last.Queued.IsZero() && !last.Started.IsZero() { // a retry by a host's queue was never queued here
					queued = append(queued, max(0, last.Started.Sub(last.Queued).Seconds()))
				}
			}
		}
		ph.Median, ph.Longest, ph.Queued = median(ran), longest(ran), median(queued)
		r.Phases = append(r.Phases, ph)
	}
	return r
}

// historyOf is where the time of the selected jobs went, and what they used of
// what they asked for.
func historyOf(c *lang.Campaign, st *state.State, s chosen.Jobs) []historyReport {
	out := []historyReport{}
	for _, h := range advice.HistoryOf(advice.Input{Campaign: c, State: st}, s.Has) {
		out = append(out, historyReportOf(h))
	}
	return out
}

func (r *Report) span(j jobReport) {
	if !j.Started.IsZero() && (r.Began.IsZero() || j.Started.Before(r.Began)) {
		r.Began = j.Started
	}
	if j.Ended.After(r.Ended) {
		r.Ended = j.Ended
	}
}

func (ph *phaseReport) count(p *lang.Phase, j *state.Job) {
	if j.Status == state.Completed {
		ph.Completed++
	}
	if j.Status == state.Failed || j.Status == state.Held {
		ph.Failed++
	}
	for k := range j.Attempts {
		if k > 0 && !evidence.GoesOn(p, j, k-1) {
			ph.Retried++
			break
		}
	}
}

func jobReportOf(p *lang.Phase, j *state.Job) jobReport {
	r := jobReport{Address: j.Address, Phase: j.Phase, Name: j.Name, Axes: j.Axes, Status: string(j.Status), Class: j.Class, Attempts: len(j.Attempts), CPU: -1, MaxRSS: -1, GPUMax: -1, Metrics: map[string]json.RawMessage{}}
	r.Unread = j.Unread
	for name, text := range j.Metrics {
		r.Metrics[name] = json.RawMessage(text)
	}
	for k, at := range j.Attempts {
		if at.Class != "" && !evidence.GoesOn(p, j, k) {
			r.Failures = append(r.Failures, at.Class)
		}
	}
	if last := j.Last(); last != nil {
		r.Backend, r.Started, r.Ended = last.Backend, last.Started, last.Ended
		if !last.Ended.IsZero() && !last.Started.IsZero() {
			r.Seconds = last.Ended.Sub(last.Started).Seconds() + evidence.Before(p, j).Seconds()
		}
		if last.Usage != nil {
			r.CPU, r.MaxRSS, r.GPUMax = last.Usage.CPU, last.Usage.MaxRSS, last.Usage.GPUMaxMem
		}
	}
	return r
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
