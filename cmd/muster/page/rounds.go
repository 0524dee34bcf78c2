package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/markdown"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/rounds"
	"github.com/muster-run/muster/state"
)

// A roundReport is one round of an optimisation.
type roundReport struct {
	Phase      string          `json:"phase"`
	Hypothesis string          `json:"hypothesis"`
	Judge      string          `json:"judge"`
	MinGain    float64         `json:"min_gain"`
	After      string          `json:"after,omitempty"` // the phase of the round before
	Left       int             `json:"left"`            // jobs that have not ended
	Verdict    string          `json:"verdict"`
	Promoted   string          `json:"promoted,omitempty"` // the setting
	Settings   []settingReport `json:"settings"`

	rows [][]string
}

type settingReport struct {
	Setting     string      `json:"setting"`
	Baseline    bool        `json:"baseline,omitempty"`
	Jobs        int         `json:"jobs"`
	Done        int         `json:"done"`
	Failed      int         `json:"failed"`
	FailedShare float64     `json:"failed_share"`      // of the launches that ended, 0 to 1
	Sum         timesReport `json:"sum"`               // over its jobs
	Value       *float64    `json:"value"`             // of judge; null = not known
	Gain        *float64    `json:"gain"`              // share of the baseline's value; null = not known, or the baseline
	Stopped     string      `json:"stopped,omitempty"` // why its breaker is open
}

func roundsOf(c *lang.Campaign, st *state.State) []roundReport {
	var out []roundReport
	for _, r := range rounds.Of(c, st) {
		out = append(out, roundOf(r))
	}
	return out
}

func roundOf(r *rounds.Round) roundReport {
	t := r.Phase.Trial
	v := roundReport{Phase: r.Phase.Name, Hypothesis: t.Hypothesis, Judge: t.Judge, MinGain: t.MinGain, After: t.After, Left: r.Left, Verdict: r.Verdict(), Settings: []settingReport{},
		rows: [][]string{{"setting", "jobs", "done", "failed launches", "queue", "run", "retries", t.Judge, "gain"}}}
	if r.Promoted >= 0 {
		v.Promoted = r.Settings[r.Promoted].Text
	}
	for i := range r.Settings {
		s := &r.Settings[i]
		v.Settings = append(v.Settings, settingReport{s.Text, i == r.Baseline, s.Jobs, s.Done, s.Failed, s.FailedShare(),
			timesReport{s.Sum.Queue.Seconds(), s.Sum.Run.Seconds(), s.Sum.Retry.Seconds()}, known(s.Value), known(s.Gain), s.Stopped})
		gain := "–"
		switch {
		case i == r.Baseline:
			gain = "baseline"
		case !math.IsNaN(s.Gain):
			gain = rounds.Percent(s.Gain)
		}
		switch {
		case i == r.Promoted:
			gain += ", promoted"
		case s.Stopped != "":
			gain += ", stopped: " + s.Stopped
		}
		v.rows = append(v.rows, []string{s.Text, strconv.Itoa(s.Jobs), strconv.Itoa(s.Done), rounds.Percent(s.FailedShare()), secs(s.Sum.Queue.Seconds()), secs(s.Sum.Run.Seconds()), secs(s.Sum.Retry.Seconds()), r.Text(s.Value), gain})
	}
	return v
}

// known is a number that JSON can hold; nil for NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// markdown is a round with its table.
func (v roundReport) markdown(w writing) string {
	return fmt.Sprintf("### %s\n\nHypothesis: %s.\n\n%s\nVerdict: %s.\n", w.text(v.Phase), w.text(strings.TrimRight(term.CleanLine(v.Hypothesis), ".")), w.table(v.rows), w.text(v.Verdict))
}

// RoundsMarkdown is the page of `muster report -rounds`: the eight sections of an
// optimisation's report, in their order.
func RoundsMarkdown(r Report, a advice.Report, style term.Style) string {
	w := writing{style.Row, markdown.Text}
	if style.TTY {
		w.text = term.CleanLine
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: rounds\n", w.text(r.Campaign))
	for i, s := range []struct {
		title string
		write func(*strings.Builder, writing, advice.Report)
	}{
		{"Objective", r.objective}, {"Rounds", r.roundTables}, {"Stages", r.stages}, {"Recommendations", r.recommendations},
		{"Out of memory", r.outOfMemory}, {"Next configuration", r.nextConfiguration}, {"Checkpoints", r.checkpoints}, {"Risks and next trial", r.nextTrial},
	} {
		fmt.Fprintf(&b, "\n## %d. %s\n\n", i+1, s.title)
		s.write(&b, w, a)
	}
	return b.String()
}

func (r Report) objective(b *strings.Builder, w writing, _ advice.Report) {
	if r.Description != "" {
		fmt.Fprintf(b, "%s\n\n", w.text(term.CleanLine(r.Description)))
	}
	for _, v := range r.Rounds {
		fmt.Fprintf(b, "- %s: %s. Judged by %s, with a gain of at least %s.\n", w.text(v.Phase), w.text(strings.TrimRight(term.CleanLine(v.Hypothesis), ".")), w.text(v.Judge), rounds.Percent(v.MinGain))
	}
}

func (r Report) roundTables(b *strings.Builder, w writing, _ advice.Report) {
	for i, v := range r.Rounds {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(v.markdown(w))
	}
}

// stages are the phases, with the one where most of the time goes.
func (r Report) stages(b *strings.Builder, w writing, _ advice.Report) {
	if len(r.History) == 0 {
		b.WriteString("No launch has ended yet.\n")
		return
	}
	b.WriteString(w.table(timeRows(r.History)) + "\n" + w.table(useRows(r.History)))
	total := func(h historyReport) float64 { return h.Sum.Queue + h.Sum.Run + h.Sum.Retry }
	slowest := slices.MaxFunc(r.History, func(a, b historyReport) int { return cmp.Compare(total(a), total(b)) })
	part := "run"
	switch longest := max(slowest.Sum.Queue, slowest.Sum.Run, slowest.Sum.Retry); longest {
	case slowest.Sum.Run:
	case slowest.Sum.Queue:
		part = "queue"
	default:
		part = "retries"
	}
	fmt.Fprintf(b, "\nThe bottleneck is %s: %s over all its jobs, most of it %s.\n", w.text(slowest.Phase), secs(total(slowest)), part)
}

func (r Report) recommendations(b *strings.Builder, w writing, a advice.Report) {
	works := map[string]string{}
	for _, h := range r.History {
		works[h.Phase] = h.Work
	}
	for i, work := range []string{"cpu", "gpu"} {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "### %s\n\n", strings.ToUpper(work))
		n := 0
		for _, p := range a.Proposals {
			if of := works[p.Phase]; of != work && (of != "" || work != "cpu") {
				continue
			}
			n++
			fmt.Fprintf(b, "- phase.%s: %s. %s\n", w.text(p.Phase), w.text(p.Title), w.text(term.CleanLine(p.Why)))
		}
		switch {
		case n > 0:
		case !slices.ContainsFunc(r.History, func(h historyReport) bool { return h.Work == work }):
			b.WriteString("No such job ran.\n")
		default:
			b.WriteString("None: jobs used about as much as they requested, as far as muster measured it.\n")
		}
	}
}

func (r Report) outOfMemory(b *strings.Builder, w writing, _ advice.Report) {
	by := map[string]map[string]int{}
	for _, j := range r.Jobs {
		for _, class := range j.Failures {
			if strings.HasPrefix(class, "oom") {
				if by[j.Phase] == nil {
					by[j.Phase] = map[string]int{}
				}
				by[j.Phase][class]++
			}
		}
	}
	if len(by) == 0 {
		b.WriteString("No launch ran out of memory.\n")
		return
	}
	rows := [][]string{{"phase", "class", "launches"}}
	for _, p := range r.Phases {
		classes := make([]string, 0, len(by[p.Phase]))
		for class := range by[p.Phase] {
			classes = append(classes, class)
		}
		slices.Sort(classes)
		for _, class := range classes {
			rows = append(rows, []string{p.Phase, class, strconv.Itoa(by[p.Phase][class])})
		}
	}
	b.WriteString(w.table(rows))
	if n := r.Totals.OOMRetried; n > 0 {
		fmt.Fprintf(b, "\n%s completed after a launch that ran out of memory.\n", units.Count(n, "job"))
	}
}

// nextConfiguration is the last promoted setting, and its effect on the time of a job.
func (r Report) nextConfiguration(b *strings.Builder, w writing, _ advice.Report) {
	for _, v := range slices.Backward(r.Rounds) {
		if v.Promoted == "" {
			continue
		}
		var base, won settingReport
		for _, s := range v.Settings {
			if s.Baseline {
				base = s
			}
			if s.Setting == v.Promoted {
				won = s
			}
		}
		fmt.Fprintf(b, "%s, promoted by %s.", w.text(v.Promoted), w.text(v.Phase))
		if base.Jobs > 0 && won.Jobs > 0 {
			was, now := base.Sum.total()/float64(base.Jobs), won.Sum.total()/float64(won.Jobs)
			fmt.Fprintf(b, " From its submission to its end, a job took %s; with %s it took %s.", secs(now), w.text(base.Setting), secs(was))
		}
		b.WriteByte('\n')
		return
	}
	b.WriteString("No round promoted a setting: the baseline stays.\n")
}

func (t timesReport) total() float64 { return t.Queue + t.Run + t.Retry }

// checkpoints are the commits of the runs, and notes.
func (r Report) checkpoints(b *strings.Builder, w writing, _ advice.Report) {
	if rows := r.ranRows(); len(rows) > 1 {
		b.WriteString(w.table(rows))
	} else {
		b.WriteString("No commit was recorded: the campaign is in no git repository.\n")
	}
	if len(r.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "- %s\n", w.text(n.Address+": "+noteLine(n)))
	}
}

// nextTrial writes the reasons against going on, and the next step.
func (r Report) nextTrial(b *strings.Builder, w writing, a advice.Report) {
	for _, v := range r.Rounds {
		for _, s := range v.Settings {
			if s.FailedShare > 0 && s.Setting == v.Promoted {
				fmt.Fprintf(b, "- %s of %s lost %s of its launches.\n", w.text(s.Setting), w.text(v.Phase), rounds.Percent(s.FailedShare))
			}
		}
	}
	for _, n := range a.Notes {
		fmt.Fprintf(b, "- %s.\n", w.text(strings.TrimRight(term.CleanLine(n), ".")))
	}
	for _, line := range r.Search {
		fmt.Fprintf(b, "- %s.\n", w.text(line))
	}
	for _, step := range r.Next {
		fmt.Fprintf(b, "- %s\n", step)
	}
}

// searchOf says what each round that waits, waits for, and which comes next.
func searchOf(c *lang.Campaign, st *state.State) (lines []string) {
	all := rounds.Of(c, st)
	for _, r := range all {
		why := rounds.Holds(r.Phase, all)
		switch {
		case r.Left == 0:
		case why != "":
			lines = append(lines, "phase."+r.Phase.Name+": "+why)
		default:
			lines = append(lines, fmt.Sprintf("next: phase.%s, %s left: %s", r.Phase.Name, units.Count(r.Left, "job"), strings.TrimRight(term.CleanLine(r.Phase.Trial.Hypothesis), ".")))
		}
	}
	return lines
}
