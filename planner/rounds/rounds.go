// Package rounds judges the rounds of an optimisation: the cost of each setting,
// the promoted one, and whether the search goes on. It reads a state and decides
// nothing else.
package rounds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// A Round is a phase with a trial block, and what its jobs show so far.
type Round struct {
	Phase    *lang.Phase
	Settings []Setting // in the order of the grid
	Baseline int       // index into Settings; -1 where no cell of the grid has that setting
	Promoted int       // index of the setting that gained enough; -1 = none
	Best     int       // index of the setting that gained most, whether enough or not; -1 = none
	Left     int       // jobs that have not ended
	Unit     string    // that cost_per_job is in; "" where nothing was billed
}

// A Setting is one combination of the axes that a round varies.
type Setting struct {
	Text     string // "memory=16GB, size=2"
	Jobs     int
	Done     int    // completed and verified
	Failed   int    // ended without a result, or will not start
	Stopped  string // why its breaker is open; "" = it is not
	Launches int    // that ended
	Lost     int    // of these: failed, and nothing went on with their work
	Sum      history.Times
	Cost     string  // decimal, in the round's unit
	Value    float64 // of the round's judge; NaN where it is not known
	Gain     float64 // share of the baseline's value; NaN for the baseline, and where one of the two is not known
	cells    []int
	changed  int // axes in which it differs from the baseline
	metric   []float64
}

// FailedShare is the share of launches that were lost, 0 to 1.
func (s *Setting) FailedShare() float64 {
	if s.Launches == 0 {
		return 0
	}
	return float64(s.Lost) / float64(s.Launches)
}

// Cell is one of the setting's cells.
func (s *Setting) Cell() int { return s.cells[0] }

// Gained reports whether a setting reached the gain that the round asks for.
func (r *Round) Gained() bool { return r.Promoted >= 0 }

// flat reports whether a round ended and gained too little. One whose baseline has no
// value says nothing.
func (r *Round) flat() bool {
	return r.Left == 0 && r.Promoted < 0 && r.Baseline >= 0 && !math.IsNaN(r.Settings[r.Baseline].Value)
}

// Of judges every round of a campaign, each after the one before it.
func Of(c *lang.Campaign, st *state.State) []*Round {
	if !slices.ContainsFunc(c.Phases, func(p *lang.Phase) bool { return p.Trial != nil }) {
		return nil
	}
	records, spent := history.ByCell(c, st, nil), map[string]state.Amounts{}
	for i := range st.Ledger {
		e := &st.Ledger[i]
		if spent[e.Address] == nil {
			spent[e.Address] = state.Amounts{}
		}
		spent[e.Address].Add(e.Spent.Map())
	}
	var out []*Round
	for _, p := range c.Phases {
		if p.Trial != nil {
			out = append(out, judge(p, records[p.Name], spent, st.Breakers))
		}
	}
	slices.SortStableFunc(out, func(a, b *Round) int { return cmp.Compare(depth(out, a), depth(out, b)) })
	return out
}

// depth is how many rounds come before one.
func depth(all []*Round, r *Round) (n int) {
	for r = find(all, r.Phase.Trial.After); r != nil; r = find(all, r.Phase.Trial.After) {
		n++
	}
	return n
}

// judge measures the settings of a round and compares them. spent is by address, open are the
// breakers by setting or phase.
func judge(p *lang.Phase, records []*state.Job, spent map[string]state.Amounts, open map[string]state.Breaker) *Round {
	r := &Round{Phase: p, Baseline: -1, Promoted: -1, Best: -1}
	r.settings()
	r.Unit = r.unit(records, spent)
	for i := range r.Settings {
		s := &r.Settings[i]
		s.Stopped = open[lang.BreakerOf(p, s.Cell())].Reason
		r.measure(s, records, spent)
	}
	r.compare()
	return r
}

// settings groups the cells.
func (r *Round) settings() {
	p, t := r.Phase, r.Phase.Trial
	like := p.Grid.Project(t.Varies)
	at := map[int]int{}
	for cell := range p.Len() {
		id := like.Of(cell)
		i, ok := at[id]
		if !ok {
			i = len(r.Settings)
			at[id] = i
			s := Setting{Text: p.Setting(cell), Value: math.NaN(), Gain: math.NaN()}
			for k, a := range t.Varies {
				if p.Grid.Value(cell, a) != t.Baseline[k] {
					s.changed++
				}
			}
			if s.changed == 0 {
				r.Baseline = i
			}
			r.Settings = append(r.Settings, s)
		}
		r.Settings[i].cells = append(r.Settings[i].cells, cell)
		r.Settings[i].Jobs++
	}
}

// unit is the unit of the comparison of costs: the dearest kind in which anything
// was billed.
func (r *Round) unit(records []*state.Job, spent map[string]state.Amounts) string {
	for _, unit := range []string{"usd", "service_units", "node_hours", "gpu_hours", "cpu_hours"} {
		for _, job := range records {
			if job != nil && amount.Of(spent[job.Address][unit]).IsPositive() {
				return unit
			}
		}
	}
	return ""
}

// measure sums up the jobs of a setting.
func (r *Round) measure(s *Setting, records []*state.Job, spent map[string]state.Amounts) {
	cost := amount.Of("0")
	for _, cell := range s.cells {
		if cell >= len(records) || records[cell] == nil {
			r.wait(s)
			continue
		}
		job := records[cell]
		cost = cost.Add(amount.Of(spent[job.Address][r.Unit]))
		switch last := job.Last(); {
		case job.Status == state.Completed:
			s.Done++
		case job.Status == state.Running || job.Status == state.Verifying:
			r.Left++
		case job.Status.Active() || last == nil || last.Ended.IsZero():
			r.wait(s)
		default:
			s.Failed++
		}
		for k := range job.Attempts {
			if at := &job.Attempts[k]; !at.Ended.IsZero() && at.Adopter == "" {
				s.Launches++
				if at.Class != "" && !history.GoesOn(r.Phase, job, k) {
					s.Lost++
				}
			}
		}
		if t, ok := history.TimesOf(r.Phase, job); ok {
			s.Sum.Queue, s.Sum.Retry, s.Sum.Run = s.Sum.Queue+t.Queue, s.Sum.Retry+t.Retry, s.Sum.Run+t.Run
		}
		var v float64
		if text, ok := job.Metrics[r.Phase.Trial.Metric()]; ok && json.Unmarshal([]byte(text), &v) == nil {
			s.metric = append(s.metric, v)
		}
	}
	s.Cost = cost.String()
	s.Value = r.value(s)
}

// wait counts a job that has not started: the setting loses it if its breaker is open.
func (r *Round) wait(s *Setting) {
	if s.Stopped != "" {
		s.Failed++
	} else {
		r.Left++
	}
}

// value is the measure of a setting.
func (r *Round) value(s *Setting) float64 {
	switch r.Phase.Trial.Judge {
	case "failed_share":
		if s.Launches > 0 {
			return s.FailedShare()
		}
	case "jobs_per_hour":
		if h := s.Sum.Total().Hours(); h > 0 && s.Done > 0 {
			return float64(s.Done) / h
		}
	case "cost_per_job":
		if s.Done > 0 && r.Unit != "" {
			return amount.Of(s.Cost).InexactFloat64() / float64(s.Done)
		}
	default:
		if len(s.metric) > 0 {
			sum := 0.0
			for _, v := range s.metric {
				sum += v
			}
			return sum / float64(len(s.metric))
		}
	}
	return math.NaN()
}

// compare finds the gain of each setting, and promotes at most one when all jobs have
// ended: of those that gained about as much as the best, within min_gain of it, the one
// that lost the fewest launches, and then the one that changes the least.
func (r *Round) compare() {
	if r.Baseline < 0 {
		return
	}
	base, t := &r.Settings[r.Baseline], r.Phase.Trial
	for i := range r.Settings {
		s := &r.Settings[i]
		if i != r.Baseline {
			s.Gain = gain(base.Value, s.Value, t.Most)
		}
		// A setting that loses jobs which the baseline completes gains nothing.
		if math.IsNaN(s.Gain) || s.Failed > base.Failed {
			continue
		}
		if r.Best < 0 || s.Gain > r.Settings[r.Best].Gain {
			r.Best = i
		}
	}
	if r.Left > 0 || r.Best < 0 || r.Settings[r.Best].Gain < t.MinGain {
		return
	}
	most := r.Settings[r.Best].Gain
	for i := range r.Settings {
		s := &r.Settings[i]
		if math.IsNaN(s.Gain) || s.Failed > base.Failed || s.Gain < t.MinGain || s.Gain < most-t.MinGain {
			continue
		}
		if r.Promoted < 0 || simpler(s, &r.Settings[r.Promoted]) {
			r.Promoted = i
		}
	}
}

// simpler reports whether one of two settings that gained about as much is to be preferred.
func simpler(a, b *Setting) bool {
	return cmp.Or(cmp.Compare(a.FailedShare(), b.FailedShare()), cmp.Compare(a.changed, b.changed), cmp.Compare(b.Gain, a.Gain)) < 0
}

// gain is the share of the baseline's value by which another is better. From a
// baseline of 0, all that is better gains the whole of it.
func gain(base, v float64, most bool) float64 {
	d := v - base
	if !most {
		d = -d
	}
	switch {
	case math.IsNaN(d):
		return math.NaN()
	case d == 0:
		return 0
	case base == 0:
		return math.Copysign(1, d)
	}
	return d / math.Abs(base)
}

// Verdict is the result of a round, in a sentence without a period.
func (r *Round) Verdict() string {
	switch {
	case r.Baseline < 0:
		return "no job of the grid has the setting of the baseline, so nothing can be compared"
	case r.Left > 0:
		return units.Count(r.Left, "job") + " left"
	case r.Promoted >= 0:
		s := &r.Settings[r.Promoted]
		return fmt.Sprintf("promote %s: %s better than %s", s.Text, Percent(s.Gain), r.Settings[r.Baseline].Text)
	case r.Best >= 0:
		s := &r.Settings[r.Best]
		return fmt.Sprintf("keep %s: the best of the others, %s, gained %s, and min_gain is %s", r.Settings[r.Baseline].Text, s.Text, Percent(s.Gain), Percent(r.Phase.Trial.MinGain))
	case math.IsNaN(r.Settings[r.Baseline].Value):
		return "nothing can be compared: the baseline has no " + r.Phase.Trial.Judge
	}
	return fmt.Sprintf("keep %s: no other setting completes its jobs", r.Settings[r.Baseline].Text)
}

// Why are the figures of the promoted setting, as sentences.
func (r *Round) Why() string {
	if r.Promoted < 0 {
		return ""
	}
	s, base := &r.Settings[r.Promoted], &r.Settings[r.Baseline]
	return fmt.Sprintf("%s is %s; with %s it was %s. That is %s better, over %s, of which %s of the launches were lost.",
		r.Phase.Trial.Judge, r.Text(s.Value), base.Text, r.Text(base.Value), Percent(s.Gain), units.Count(s.Jobs, "job"), Percent(s.FailedShare()))
}

// Percent is a share as people read it: "12 %", and "-3 %" for a loss.
func Percent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + " %"
}

// Text is the value of a setting in words.
func (r *Round) Text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case r.Phase.Trial.Judge == "jobs_per_hour":
		return fmt.Sprintf("%.4g/h", v)
	case r.Phase.Trial.Judge == "failed_share":
		return Percent(v)
	case r.Phase.Trial.Judge == "cost_per_job":
		return amount.Words(r.Unit, fmt.Sprintf("%.4f", v))
	}
	return fmt.Sprintf("%.6g", v)
}

// Holds is why a phase must not start yet: its round before has jobs left, or two
// rounds in a row gained too little. It is "" where it may.
func Holds(p *lang.Phase, all []*Round) string {
	if p.Trial == nil || p.Trial.After == "" {
		return ""
	}
	before := find(all, p.Trial.After)
	switch {
	case before == nil:
		return ""
	case before.Left > 0:
		return fmt.Sprintf("waits for the round before: phase.%s has %s left", before.Phase.Name, units.Count(before.Left, "job"))
	case !before.flat():
		return ""
	}
	first := find(all, before.Phase.Trial.After)
	if first == nil || !first.flat() {
		return ""
	}
	return fmt.Sprintf("the search ended: phase.%s and phase.%s both gained less than their min_gain. To continue anyway, remove `after` from the trial of phase.%s",
		first.Phase.Name, before.Phase.Name, p.Name)
}

func find(all []*Round, phase string) *Round {
	if i := slices.IndexFunc(all, func(r *Round) bool { return r.Phase.Name == phase }); i >= 0 {
		return all[i]
	}
	return nil
}
