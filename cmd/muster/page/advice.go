package page

import (
	"time"

	"github.com/muster-run/muster/planner/advice"
)

// An Advice is the JSON of `muster advise -json`.
type Advice struct {
	FormatVersion string           `json:"format_version"`
	Campaign      string           `json:"campaign"`
	Launches      int              `json:"launches"` // that ended: the evidence for all of this
	Phases        []historyReport  `json:"phases"`
	Proposals     []proposalReport `json:"proposals"`
	Notes         []string         `json:"notes"`
}

// A historyReport compares the requests of a phase's jobs with their use, and
// says where their time went.
type historyReport struct {
	Phase    string      `json:"phase"`
	Work     string      `json:"work"` // "cpu" or "gpu"
	Jobs     int         `json:"jobs"`
	Done     int         `json:"done"`
	Launches int         `json:"launches"`
	Failed   int         `json:"failed"`
	Segments int         `json:"segments"` // launches whose work the next one went on with
	Uses     []useReport `json:"uses"`
	Median   timesReport `json:"median"` // of a job
	Sum      timesReport `json:"sum"`    // over jobs
}

// A useReport is one resource: bytes, cores or seconds.
type useReport struct {
	What     string  `json:"what"`
	Asked    float64 `json:"asked"` // 0 = not asked for
	Least    float64 `json:"asked_least"`
	Median   float64 `json:"median"`
	Most     float64 `json:"most"`
	Measured int     `json:"measured"`            // launches; 0 = nobody measured it
	Short    int     `json:"too_short,omitempty"` // launches that were too short to measure their memory
}

// A timesReport is where time went, in seconds.
type timesReport struct {
	Queue float64 `json:"queue_seconds"`
	Run   float64 `json:"run_seconds"`
	Retry float64 `json:"retry_seconds"`
}

type proposalReport struct {
	Phase  string         `json:"phase"`
	Kind   string         `json:"kind"` // memory, walltime, cores, gpus, place, split, retry
	Title  string         `json:"title"`
	Jobs   string         `json:"jobs,omitempty"` // which, where not all of the phase
	File   string         `json:"file,omitempty"`
	Line   int            `json:"line,omitempty"`
	Before string         `json:"before,omitempty"` // "" for lines to add
	After  string         `json:"after,omitempty"`  // "" where the value depends on the cell: see value
	Value  string         `json:"value,omitempty"`
	Why    string         `json:"why"`
	Margin string         `json:"margin,omitempty"`
	Saves  []savingReport `json:"saves"`
}

type savingReport struct {
	Unit   string `json:"unit"` // usd, service_units, gpu_hours, cpu_hours, node_hours, wait_hours, run_hours
	Amount string `json:"amount"`
	Of     string `json:"of"`
	AtMost bool   `json:"at_most,omitempty"` // of the ceiling of a plan, not of its expected cost
	// Estimated: by a price that is its provider's guess.
	Estimated bool `json:"estimated,omitempty"`
}

func AdviceOf(campaign string, r advice.Report) Advice {
	out := Advice{FormatVersion: FormatVersion, Campaign: campaign, Launches: r.Launches, Phases: []historyReport{}, Proposals: []proposalReport{}, Notes: append([]string{}, r.Notes...)}
	for _, h := range r.Phases {
		out.Phases = append(out.Phases, historyReportOf(h))
	}
	for _, p := range r.Proposals {
		v := proposalReport{Phase: p.Phase, Kind: p.Kind, Title: p.Title, Jobs: p.Jobs, File: p.Edit.File, Line: p.Edit.Line, Before: p.Edit.Before, After: p.Edit.After, Value: p.Edit.Value,
			Why: p.Why, Margin: p.Margin, Saves: []savingReport{}}
		for _, s := range p.Saves {
			v.Saves = append(v.Saves, savingReport(s))
		}
		out.Proposals = append(out.Proposals, v)
	}
	return out
}

func historyReportOf(h advice.History) historyReport {
	v := historyReport{Phase: h.Phase, Work: workOf(h), Jobs: h.Jobs, Done: h.Done, Launches: h.Launches, Failed: h.Failed, Segments: h.Segments, Uses: []useReport{},
		Median: timesReport{h.Median.Queue.Seconds(), h.Median.Run.Seconds(), h.Median.Retry.Seconds()},
		Sum:    timesReport{h.Sum.Queue.Seconds(), h.Sum.Run.Seconds(), h.Sum.Retry.Seconds()}}
	for _, u := range h.Uses {
		if u.What == "walltime" {
			second := float64(time.Second)
			u.Asked, u.Least, u.Median, u.Most = u.Asked/second, u.Least/second, u.Median/second, u.Most/second
		}
		v.Uses = append(v.Uses, useReport(u))
	}
	return v
}

func workOf(h advice.History) string {
	if h.GPU {
		return "gpu"
	}
	return "cpu"
}
