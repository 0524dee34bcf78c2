package main

import (
	"context"
	"flag"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
)

func adviseCommand() *command {
	return &command{
		name: "advise", short: "what jobs used of what they asked for, and the line to change", maxArgs: 0,
		long: `Compares what jobs asked for with what they used, phase by phase: memory, cores, GPUs, walltime; and tells queue, run and
retry time apart. Where a request is far off, it names the line to change, the value with its margin, and what that would
save. It changes nothing: edit the campaign, and the next plan shows the difference.

The backends are asked for their pools and prices only; -refresh=false asks nobody and leaves prices out.`,
		examples: []example{{"muster advise", "after the first round"}, {"muster advise -json", "for a script"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			ask := fs.Bool("refresh", true, "ask the backends for their pools and prices; -refresh=false does not")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, a *app, _ []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				in := advice.Input{Campaign: c, State: st}
				var away map[string]string
				if *ask {
					away = a.askPools(ctx, c, st, &in)
				}
				r := advice.Of(in)
				for _, name := range slices.Sorted(maps.Keys(away)) {
					r.Notes = append(r.Notes, "backend."+name+" cannot be asked, and its prices are left out: "+away[name])
				}
				if *asJSON {
					return a.encode(adviceReportOf(c.Name, r))
				}
				a.printf("%s", adviceText(r, min(max(a.out.Width, 60), term.MaxWidth)))
				return nil
			}
		},
	}
}

// askPools asks the backends what pools they have; it tells which could not be
// asked, and why.
func (a *app) askPools(ctx context.Context, c *lang.Campaign, st *state.State, in *advice.Input) map[string]string {
	w := &work{launcher: a.launcher()}
	defer w.close()
	seen := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: w.provider(ctx), Now: a.now(), Waiting: a.waiting})
	in.Pools = seen.Pools
	return seen.Observed.Unreachable
}

// An adviceReport is the JSON of `muster advise -json`.
type adviceReport struct {
	FormatVersion string           `json:"format_version"`
	Campaign      string           `json:"campaign"`
	Launches      int              `json:"launches"` // that ended: what all of this rests on
	Phases        []historyReport  `json:"phases"`
	Proposals     []proposalReport `json:"proposals"`
	Notes         []string         `json:"notes"`
}

// A historyReport is what a phase's jobs asked for and used, and where their
// time went.
type historyReport struct {
	Phase    string      `json:"phase"`
	Work     string      `json:"work"` // "cpu" or "gpu"
	Jobs     int         `json:"jobs"`
	Done     int         `json:"done"`
	Launches int         `json:"launches"`
	Failed   int         `json:"failed"`
	Uses     []useReport `json:"uses"`
	Median   timesReport `json:"median"` // of a job
	Sum      timesReport `json:"sum"`    // over jobs
}

// A useReport is one resource: bytes, cores or seconds.
type useReport struct {
	What     string  `json:"what"`
	Asked    float64 `json:"asked"` // 0 = not asked for
	Median   float64 `json:"median"`
	Most     float64 `json:"most"`
	Measured int     `json:"measured"` // launches; 0 = nobody measured it
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
	AtMost bool   `json:"at_most,omitempty"` // off the ceiling of a plan, not off what is likely spent
}

func adviceReportOf(campaign string, r advice.Report) adviceReport {
	out := adviceReport{FormatVersion: formatVersion, Campaign: campaign, Launches: r.Launches, Phases: []historyReport{}, Proposals: []proposalReport{}, Notes: append([]string{}, r.Notes...)}
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
	v := historyReport{Phase: h.Phase, Work: workOf(h), Jobs: h.Jobs, Done: h.Done, Launches: h.Launches, Failed: h.Failed, Uses: []useReport{},
		Median: timesReport{h.Median.Queue.Seconds(), h.Median.Run.Seconds(), h.Median.Retry.Seconds()},
		Sum:    timesReport{h.Sum.Queue.Seconds(), h.Sum.Run.Seconds(), h.Sum.Retry.Seconds()}}
	for _, u := range h.Uses {
		if u.What == "walltime" {
			second := float64(time.Second)
			u.Asked, u.Median, u.Most = u.Asked/second, u.Median/second, u.Most/second
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
