package precedent

import (
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// Finished are the lines of a campaign's phases that have ended: no job of theirs is in
// flight, and at least one ran. A job of an older form of its phase does not count.
func Finished(c *lang.Campaign, st *state.State) (lines []Record) {
	for _, p := range c.Phases {
		if l, ok := finished(c, p, st); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// A tally gathers the line of a phase.
type tally struct {
	Record
	p       *lang.Phase
	took    []time.Duration // by completed jobs
	on      map[string]int  // jobs by the backend of their last launch
	counted map[string]bool // addresses
}

func finished(c *lang.Campaign, p *lang.Phase, st *state.State) (Record, bool) {
	t := tally{p: p, on: map[string]int{}, counted: map[string]bool{},
		Record: Record{Version: version, Campaign: c.Name, Phase: p.Name, Kind: lang.KindOf(p), Failed: map[string]int{}}}
	definition := p.Definition().Digest
	for i := range p.Len() {
		job := st.Job(p.Address(i))
		if job == nil || job.Definition != definition || job.Adopted() {
			continue
		}
		if job.InFlight() {
			return t.Record, false
		}
		if last := job.Last(); last != nil && !last.Ended.IsZero() {
			t.count(i, job, last)
		}
	}
	if t.Jobs == 0 {
		return t.Record, false
	}
	round := func(q float64) float64 {
		return forecast.Quantile(t.took, q).Round(time.Millisecond).Seconds()
	}
	t.P50, t.P90, t.Longest = round(0.5), round(0.9), round(1)
	t.spent(st)
	return t.Record, true
}

// count takes a job that ended.
func (t *tally) count(cell int, job *state.Job, last *state.Attempt) {
	t.counted[job.Address] = true
	if t.Jobs++; t.Jobs == 1 || last.Ended.After(t.At) {
		t.At, t.Source = last.Ended.UTC().Truncate(time.Second), job.Source
	}
	for k := range job.Attempts {
		class := job.Attempts[k].Class
		if class == "" || history.GoesOn(t.p, job, k) {
			continue
		}
		if !classes.MatchString(class) {
			class = "unknown"
		}
		t.Failed[class]++
	}
	if t.on[last.Backend]++; t.on[last.Backend] > t.on[t.Backend] {
		s := t.p.Requests(lang.Run)[t.p.RequestOf(cell, lang.Run)].Shape
		t.Backend, t.GPUs, t.CPUs, t.Memory, t.Walltime = last.Backend, s.GPUs, s.CPUs, s.Memory, s.Walltime.Seconds()
		if t.Nodes = 0; s.Nodes > 1 {
			t.Nodes = s.Nodes
		}
	}
	if job.Status == state.Completed {
		t.Done++
		if d := history.Worked(t.p, job); d > 0 {
			t.took = append(t.took, d)
		}
	}
}

// spent adds the cost of the counted jobs and their smokes.
func (t *tally) spent(st *state.State) {
	sums := state.Amounts{}
	for _, e := range st.Ledger {
		if t.counted[strings.TrimPrefix(e.Address, state.SmokeAddress(""))] {
			sums.Add(e.Spent.Map())
		}
	}
	for unit, text := range sums {
		if amounts.MatchString(text) {
			if t.Spent == nil {
				t.Spent = map[string]string{}
			}
			t.Spent[unit] = text
		}
	}
}
