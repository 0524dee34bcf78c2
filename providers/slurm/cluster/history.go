package cluster

import (
	"fmt"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// Place is where Slurm keeps one element.
type Place struct {
	Array string // id of the array, or of the job itself
	Index int    // -1: no element
}

// History is what accounting has of one element: its rows, oldest first, and
// its steps.
type History struct {
	rows  []AccountRow
	steps []AccountRow
}

// Histories are rows of sacct, in its order, by element.
func Histories(rows []AccountRow) map[Place]*History {
	out := map[Place]*History{}
	for _, r := range rows {
		k := Place{r.Array, r.index}
		h := out[k]
		if h == nil {
			h = &History{}
			out[k] = h
		}
		if r.Step == "" {
			h.rows = append(h.rows, r)
		} else {
			h.steps = append(h.steps, r)
		}
	}
	return out
}

// Last is the newest row of a job name that was submitted no earlier than it
// was tried, but for a minute by which clocks may differ; nil if there is none.
// Ids are given out again, and a row that is not complete yet has no name.
func (h *History) Last(name string, tried time.Time) *AccountRow {
	if h == nil {
		return nil
	}
	for i := len(h.rows) - 1; i >= 0; i-- {
		if r := &h.rows[i]; r.Name == name && !r.Submit.Before(tried.Add(-time.Minute)) {
			return r
		}
	}
	return nil
}

// Usage is what accounting says that the start of a row used: memory is the
// most that one of its steps had.
func (h *History) Usage(r *AccountRow) *offer.Usage {
	u := &offer.Usage{Elapsed: r.elapsed, CPU: r.cpu, MaxRSS: -1}
	for _, s := range h.steps {
		if s.Submit.Before(r.Submit) {
			continue // of an earlier start
		}
		u.MaxRSS = max(u.MaxRSS, s.rss)
	}
	u.GPUSeconds = float64(countGPUs(r.tres)) * r.elapsed.Seconds()
	if b, err := strconv.ParseFloat(r.tres["billing"], 64); err == nil {
		u.Billed = fmt.Sprintf("%.0f billing-seconds", b*r.elapsed.Seconds())
	}
	return u
}
