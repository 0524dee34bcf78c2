package history

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// An Attempt is a launch of a job that ended.
type Attempt struct {
	Cell      int
	Job       *state.Job
	At        *state.Attempt
	Completed bool // and its outputs are verified
	GoesOn    bool // its walltime ended it, and the next one went on with its work
}

// Launches are the attempts of the phase's jobs that ended, in the order of the cells.
func (h *Past) Launches() (out []Attempt) {
	for cell, job := range h.records {
		if job == nil {
			continue
		}
		for k := range job.Attempts {
			if at := &job.Attempts[k]; !at.Ended.IsZero() {
				out = append(out, Attempt{cell, job, at, k == len(job.Attempts)-1 && job.Status == state.Completed, GoesOn(h.phase, job, k)})
			}
		}
	}
	return out
}

// OutOfMemory reports whether a launch needed more host memory than it was given.
func (l Attempt) OutOfMemory() bool {
	return !l.GoesOn && (l.At.Class == failure.OOMHost || l.At.Class == failure.OOMSched)
}

// Memory is the most that a launch had in use, in bytes; false where nobody measured it.
func (l Attempt) Memory() (int64, bool) {
	if l.At.Usage == nil || l.At.Usage.MaxRSS <= 0 {
		return 0, false
	}
	return l.At.Usage.MaxRSS, true
}

// shortLaunch is the time below which a launch may end before anybody measures its
// memory: Slurm looks every 30 s (slurm.conf(5), JobAcctGatherFrequency), a host's
// queue sooner.
const shortLaunch = 30 * time.Second

// TooShort reports whether a launch's memory is unknown because it ended before
// anybody looked.
func (l Attempt) TooShort() bool {
	u, d := l.At.Usage, Elapsed(l.At)
	return u != nil && u.MaxRSS < 0 && u.CPU >= 0 && d > 0 && d < shortLaunch
}

// Given is how much host memory, in bytes, an attempt of a cell's job had: that of its retry
// where it had more, else the cell's request.
func Given(p *lang.Phase, cell int, at *state.Attempt) int64 {
	if n, err := strconv.ParseInt(at.Scaled["memory"], 10, 64); err == nil && n > 0 {
		return n
	}
	return p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)].Shape.Memory
}

// Often is the share of launches that fail alike from which a phase, and not a
// corner of its grid, has the wrong size. The breaker warns from there.
const Often = 0.10

// A Sizing judges a request by its launches.
type Sizing int

// The verdicts.
const (
	Fits      Sizing = iota // or nothing is known of it
	TooMuch                 // more than twice the use of any
	TooLittle               // many ran out of it, or one used more than twice as much
	Corner                  // few ran out of it
)

// Memory is the evidence of launches with the same request for host memory.
type Memory struct {
	Asked    int64 // bytes; 0 = nothing is written
	Most     int64 // that a launch used
	Measured int
	Launches int
	Killed   []Attempt // ran out of it
}

// Memory is the evidence on host memory, by request, most first. Launches of jobs that
// completed other work than the present definition do not count.
func (h *Past) Memory() (out []Memory) {
	speaks, reqs := h.Speaking(), h.phase.Requests(lang.Run)
	at := map[int64]int{}
	for _, r := range reqs {
		if _, has := at[r.Shape.Memory]; !has {
			at[r.Shape.Memory] = len(out)
			out = append(out, Memory{Asked: r.Shape.Memory})
		}
	}
	for _, l := range h.Launches() {
		if l.Job.Status == state.Completed && !speaks(l.Cell) {
			continue
		}
		m := &out[at[reqs[h.phase.RequestOf(l.Cell, lang.Run)].Shape.Memory]]
		m.Launches++
		if used, ok := l.Memory(); ok {
			m.Most = max(m.Most, used)
			m.Measured++
		}
		if l.OutOfMemory() {
			m.Killed = append(m.Killed, l)
		}
	}
	slices.SortFunc(out, func(a, b Memory) int { return int(min(max(b.Asked-a.Asked, -1), 1)) })
	return out
}

// Verdict judges the request by the evidence.
func (m Memory) Verdict() Sizing {
	switch {
	case len(m.Killed) > 0 && float64(len(m.Killed)) < Often*float64(m.Launches):
		return Corner
	case len(m.Killed) > 0:
		return TooLittle
	case m.Asked <= 0 || m.Measured < enoughRuns:
		return Fits
	case m.Asked > offBy*max(m.Most, LittleMemory):
		return TooMuch
	case m.Most > offBy*m.Asked:
		return TooLittle
	}
	return Fits
}

// Why are the figures of a verdict, as the second half of a sentence on the request.
func (m Memory) Why() string {
	if n := len(m.Killed); n > 0 {
		return fmt.Sprintf("%d of its %s ran out of it", n, units.Count(m.Launches, "run"))
	}
	return fmt.Sprintf("the most that any of its %s used was %s", units.Count(m.Measured, "run"), units.FormatSize(m.Most))
}
