package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

func reportCommand() *command {
	return &command{
		name: "report", args: "[ADDR…]", short: "what happened: Markdown, JSON or CSV", maxArgs: -1,
		long: `Tells what the campaign did: jobs, attempts, failures, times, what was spent, results. -csv has one row a job with axes and
metrics as columns, ready for a data frame.`,
		examples: []example{{"muster report", "Markdown, for a notebook"}, {"muster report -csv phase.students", "one row a job"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			asCSV := fs.Bool("csv", false, "print CSV, one row a job")
			return func(ctx context.Context, a *app, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				s, err := a.choose(c, st, args)
				if err != nil {
					return err
				}
				r := reportOf(c, st, s)
				switch {
				case *asJSON:
					return json.NewEncoder(a.stdout).Encode(r)
				case *asCSV:
					return a.reportCSV(r)
				}
				a.printf("%s", markdownReport(r))
				return nil
			}
		},
		complete: jobAddresses,
	}
}

// A campaignReport is the JSON of `muster report -json`.
type campaignReport struct {
	FormatVersion string         `json:"format_version"`
	Campaign      string         `json:"campaign"`
	Description   string         `json:"description,omitempty"`
	Phases        []phaseReport  `json:"phases"`
	Jobs          []jobReport    `json:"jobs"`
	Results       []resultReport `json:"results"`
	Spent         state.Amounts  `json:"spent"`
	Began         time.Time      `json:"began,omitzero"`
	Ended         time.Time      `json:"ended,omitzero"`
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
	Started  time.Time                  `json:"started,omitzero"`
	Ended    time.Time                  `json:"ended,omitzero"`
	Failures []string                   `json:"failures,omitempty"` // class of each failed attempt
	Metrics  map[string]json.RawMessage `json:"metrics,omitempty"`
}

func reportOf(c *lang.Campaign, st *state.State, s selection) campaignReport {
	r := campaignReport{FormatVersion: "1.0", Campaign: c.Name, Description: c.Description, Jobs: []jobReport{}, Phases: []phaseReport{}, Spent: state.Amounts{}}
	r.Results = outputsOf(c, st, s).Results
	for _, e := range st.Ledger {
		addAmounts(r.Spent, e.Spent)
	}
	for _, p := range c.Phases {
		ph := phaseReport{Phase: p.Name, Jobs: p.Len()}
		var ran, queued []float64
		for i := range p.Len() {
			j := st.Job(p.Address(i))
			if j == nil || !s.has(j.Address) {
				continue
			}
			jr := jobReportOf(j)
			r.Jobs = append(r.Jobs, jr)
			r.span(jr)
			ph.count(j, jr)
			if last := j.Last(); jr.Seconds > 0 && last != nil {
				ran = append(ran, jr.Seconds)
				queued = append(queued, max(0, last.Started.Sub(last.Queued).Seconds()))
			}
		}
		ph.Median, ph.Longest, ph.Queued = median(ran), longest(ran), median(queued)
		r.Phases = append(r.Phases, ph)
	}
	return r
}

func (r *campaignReport) span(j jobReport) {
	if !j.Started.IsZero() && (r.Began.IsZero() || j.Started.Before(r.Began)) {
		r.Began = j.Started
	}
	if j.Ended.After(r.Ended) {
		r.Ended = j.Ended
	}
}

func (ph *phaseReport) count(j *state.Job, jr jobReport) {
	if j.Status == state.Completed {
		ph.Completed++
	}
	if j.Status == state.Failed || j.Status == state.Held {
		ph.Failed++
	}
	if jr.Attempts > 1 {
		ph.Retried++
	}
}

func jobReportOf(j *state.Job) jobReport {
	r := jobReport{Address: j.Address, Phase: j.Phase, Name: j.Name, Axes: j.Axes, Status: string(j.Status), Class: j.Class, Attempts: len(j.Attempts), CPU: -1, MaxRSS: -1, Metrics: map[string]json.RawMessage{}}
	for name, text := range j.Metrics {
		r.Metrics[name] = json.RawMessage(text)
	}
	for _, at := range j.Attempts {
		if at.Class != "" {
			r.Failures = append(r.Failures, at.Class)
		}
	}
	if last := j.Last(); last != nil {
		r.Backend, r.Started, r.Ended = last.Backend, last.Started, last.Ended
		if !last.Ended.IsZero() && !last.Started.IsZero() {
			r.Seconds = last.Ended.Sub(last.Started).Seconds()
		}
		if last.Usage != nil {
			r.CPU, r.MaxRSS = last.Usage.CPU, last.Usage.MaxRSS
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

func markdownReport(r campaignReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", r.Campaign)
	if r.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", term.CleanLine(r.Description))
	}
	if !r.Began.IsZero() {
		fmt.Fprintf(&b, "From %s to %s: %s.\n", r.Began.Local().Format(time.DateTime), r.Ended.Local().Format(time.DateTime), units.FormatDuration(r.Ended.Sub(r.Began).Round(time.Second)))
	}
	if text := ceilingText(r.Spent); text != "" {
		fmt.Fprintf(&b, "Spent: %s.\n", text)
	}
	rows := [][]string{{"phase", "jobs", "done", "retried", "failed", "median", "longest", "queued"}}
	for _, p := range r.Phases {
		rows = append(rows, []string{p.Phase, strconv.Itoa(p.Jobs), strconv.Itoa(p.Completed), strconv.Itoa(p.Retried), strconv.Itoa(p.Failed), secs(p.Median), secs(p.Longest), secs(p.Queued)})
	}
	b.WriteString("\n" + markdownTable(rows))
	if rows := troubles(r); len(rows) > 1 {
		b.WriteString("\n## Failures and retries\n\n" + markdownTable(rows))
	}
	if len(r.Results) > 0 {
		b.WriteString("\n## Results\n\n")
		for _, v := range r.Results {
			b.WriteString("- " + resultText(lang.ResultValue{Name: v.Name, Known: v.Known, Done: v.Done, Total: v.Total, JSON: string(v.Value), Error: v.Error}) + "\n")
		}
	}
	return b.String()
}

// troubles lists jobs that did not succeed at their first attempt.
func troubles(r campaignReport) [][]string {
	rows := [][]string{{"job", "attempts", "failures", "now"}}
	for _, j := range r.Jobs {
		if len(j.Failures) > 0 {
			rows = append(rows, []string{term.CleanLine(j.Address), strconv.Itoa(j.Attempts), strings.Join(j.Failures, ", "), j.Status})
		}
	}
	return rows
}

// markdownTable lines columns up, so that the report reads well as text, too.
func markdownTable(rows [][]string) string {
	t := term.Table{Gap: " | ", Indent: "| "}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], term.Width(cell), 3)
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	for i, row := range rows {
		t.Row(append(row, "")...)
		if i == 0 {
			t.Row(append(rule, "")...)
		}
	}
	return t.String()
}

func secs(s float64) string {
	switch {
	case s == 0:
		return "–"
	case s < 10:
		return fmt.Sprintf("%.2fs", s)
	}
	return units.FormatDuration(time.Duration(s * float64(time.Second)).Round(time.Second))
}

func (a *app) reportCSV(r campaignReport) error {
	axes, metrics := map[string]bool{}, map[string]bool{}
	for _, j := range r.Jobs {
		for k := range j.Axes {
			axes[k] = true
		}
		for k := range j.Metrics {
			metrics[k] = true
		}
	}
	axisNames, metricNames := slices.Sorted(maps.Keys(axes)), slices.Sorted(maps.Keys(metrics))
	w := csv.NewWriter(a.stdout)
	w.Write(slices.Concat([]string{"address", "phase"}, axisNames, []string{"status", "class", "attempts", "backend", "seconds", "cpu_seconds", "max_rss", "started", "ended"}, metricNames))
	for _, j := range r.Jobs {
		row := []string{j.Address, j.Phase}
		for _, k := range axisNames {
			row = append(row, j.Axes[k])
		}
		row = append(row, j.Status, j.Class, strconv.Itoa(j.Attempts), j.Backend, number(j.Seconds), number(j.CPU), number(float64(j.MaxRSS)), stamp(j.Started), stamp(j.Ended))
		for _, k := range metricNames {
			row = append(row, plainJSON(j.Metrics[k]))
		}
		w.Write(row)
	}
	w.Flush()
	return w.Error()
}

// number leaves a cell empty for what is not known.
func number(f float64) string {
	if f < 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func plainJSON(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}
