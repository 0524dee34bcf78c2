package page

import (
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/state"
)

// A Rehearsal is the JSON of `muster rehearse -json`. Amounts are in
// their unit, times in seconds.
type Rehearsal struct {
	FormatVersion string                    `json:"format_version"`
	Campaign      string                    `json:"campaign"`
	Plan          string                    `json:"plan"`
	Now           time.Time                 `json:"now"`
	Seed          uint64                    `json:"seed"`
	Runs          int                       `json:"runs"`
	Jobs          int                       `json:"jobs"` // to run
	Figures       map[string]rehearsedRange `json:"figures"`
	Complete      int                       `json:"complete"` // rehearsals in which every job was done
	Endings       []rehearsedEnding         `json:"endings"`
	Assumed       []string                  `json:"assumed"`
	Rehearsals    []rehearsedRun            `json:"rehearsals"`
}

type rehearsedRange struct {
	Min float64 `json:"min"`
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	Max float64 `json:"max"`
}

type rehearsedEnding struct {
	Why     string `json:"why"`
	Count   int    `json:"count"`
	LeftMin int    `json:"left_min"`
	LeftMax int    `json:"left_max"`
}

type rehearsedRun struct {
	Spent    state.Amounts `json:"spent"`
	Walltime float64       `json:"walltime_s"`
	Done     int           `json:"done"`
	Failed   int           `json:"failed"`
	Held     int           `json:"held"`
	Blocked  int           `json:"blocked"`
	Left     int           `json:"left"`
	Retries  int           `json:"retries"`
	Stopped  string        `json:"stopped,omitempty"`
	Why      string        `json:"why,omitempty"`
	Breakers []string      `json:"breakers,omitempty"` // phases
	Resumed  int           `json:"resumed,omitempty"`  // how often somebody came
}

func RehearsalOf(p *planner.Plan, stage *rehearse.Stage, seed uint64, runs []rehearse.Result) Rehearsal {
	out := Rehearsal{FormatVersion: FormatVersion, Campaign: p.Campaign, Plan: p.ID, Now: p.Now, Seed: seed, Runs: len(runs),
		Jobs: p.Counts.Run + p.Counts.Retry + p.Counts.Rerun, Figures: map[string]rehearsedRange{}, Endings: []rehearsedEnding{}, Assumed: stage.Assumed()}
	for _, f := range rehearsedFigures(p, runs) {
		out.Figures[f.unit] = rehearsedRange{f.spread.Min, f.spread.P10, f.spread.P50, f.spread.P90, f.spread.Max}
	}
	for _, e := range rehearse.Endings(runs) {
		out.Endings = append(out.Endings, rehearsedEnding{e.Why, e.Count, e.Min, e.Max})
	}
	for _, run := range runs {
		if run.Failed+run.Held+run.Blocked+run.Left == 0 {
			out.Complete++
		}
		out.Rehearsals = append(out.Rehearsals, rehearsedRun{run.Spent, run.Took.Seconds(), run.Done, run.Failed, run.Held, run.Blocked, run.Left, run.Retries,
			string(run.Stopped), run.Why, run.Open, run.Visits})
	}
	if text := stage.Attended(runs); text != "" {
		out.Assumed = append(out.Assumed, text)
	}
	return out
}
