package history

import (
	"encoding/json"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// A Mark is a judgement of a job by its time. The zero Mark is none.
type Mark string

// The marks.
const (
	Late    Mark = "late"    // it runs for more than twice its expected time
	Overdue Mark = "overdue" // for more than three times
	Suspect Mark = "suspect" // it completed in less than a tenth of it
)

// The marks need an expected time that was measured, of at least a minute. Half
// a walltime is no measurement, and short jobs vary for any reason.
const (
	lateAt    = 2
	overdueAt = 3
	suspectAt = 0.1
	leastTime = time.Minute
	leastRuns = 3 // completed jobs beside the one that is judged
)

// A Pace judges the jobs of one phase.
type Pace struct {
	phase  *lang.Phase
	law    *Fitted // of runtimes over the axes; nil where the median speaks for every cell
	speaks func(cell int) bool
	times  []time.Duration // of completed jobs, by cell; 0 = none
	seen   []time.Duration
	median time.Duration
}

// PaceOf judges by the records of a phase, one for each cell, nil where it has none,
// and the definitions of the state: jobs under another one may have had other work.
func PaceOf(p *lang.Phase, records []*state.Job, definitions map[string]json.RawMessage, fits *fit.Budget) *Pace {
	past := PastOf(p, records, definitions)
	ph := &Pace{phase: p, times: make([]time.Duration, len(records)), speaks: past.Speaking()}
	for i, job := range records {
		if job == nil || job.Status != state.Completed || job.Last() == nil {
			continue
		}
		if d := Worked(p, job); d > 0 {
			ph.times[i] = d
		}
		if d := ph.times[i]; d > 0 && ph.speaks(i) {
			ph.seen = append(ph.seen, d)
		}
	}
	if len(ph.seen) < leastRuns {
		return ph
	}
	ph.median = forecast.Quantile(ph.seen, 0.5)
	if law, ok := past.Fit(fits); ok {
		ph.law = law
	}
	return ph
}

// Expected is how long the job of a cell takes, from the measured times of others; false where
// there are too few.
func (ph *Pace) Expected(cell int) (time.Duration, bool) {
	others := len(ph.seen)
	if cell < len(ph.times) && ph.times[cell] > 0 && ph.speaks(cell) {
		others--
	}
	if others < leastRuns {
		return 0, false
	}
	d := ph.median
	if ph.law != nil {
		r, ok := ph.law.Predict(cell)
		switch {
		case ok:
			d = r.Expected
		case ph.law.Lawful():
			return 0, false
		}
	}
	return d, d >= leastTime
}

// Running judges the job of a cell that has run since a time, with its expected time.
func (ph *Pace) Running(cell int, since time.Time, job *state.Job, now time.Time) (Mark, time.Duration) {
	expected, ok := ph.Expected(cell)
	ran := now.Sub(since) + Before(ph.phase, job)
	switch {
	case !ok || since.IsZero():
		return "", 0
	case ran > overdueAt*expected:
		return Overdue, expected
	case ran > lateAt*expected:
		return Late, expected
	}
	return "", expected
}

// Completed judges the completed job of a cell, with its expected and its real time.
func (ph *Pace) Completed(cell int) (mark Mark, expected, took time.Duration) {
	if cell >= len(ph.times) || ph.times[cell] <= 0 || !ph.speaks(cell) {
		return "", 0, 0
	}
	took = ph.times[cell]
	expected, ok := ph.Expected(cell)
	if ok && took.Seconds() < suspectAt*expected.Seconds() {
		return Suspect, expected, took
	}
	return "", expected, took
}
