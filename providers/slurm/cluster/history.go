package cluster

import (
	"fmt"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers"
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

// Launch is the row of one launch that Slurm has put back since: the one within
// whose time its script began, else, began being zero, the one of that number.
// It is nil while accounting does not have the launch's end.
func (h *History) Launch(name string, tried time.Time, restart int, began time.Time) *AccountRow {
	if h == nil {
		return nil
	}
	n := 0
	for i := range h.rows {
		r := &h.rows[i]
		if r.Name != name || r.Submit.Before(tried.Add(-time.Minute)) {
			continue
		}
		its := n == restart
		if !began.IsZero() { // times are whole seconds
			its = !r.Start.IsZero() && !r.Start.After(began.Add(time.Second)) && !r.End.Before(began.Add(-time.Second))
		}
		if its && !r.End.IsZero() && (r.Final() || StateWord(r.State) == "REQUEUED") {
			return r
		}
		n++
	}
	return nil
}

// Usage is what accounting says that the start of a row used: memory is the
// most that one of its steps had. It is nil for one that never began.
func (h *History) Usage(r *AccountRow) *offer.Usage {
	if r.Start.IsZero() {
		return nil
	}
	u := &offer.Usage{Elapsed: r.elapsed, CPU: r.cpu, MaxRSS: -1}
	for _, s := range h.steps {
		if s.Submit.Before(r.Submit) || !r.End.IsZero() && s.Submit.After(r.End) {
			continue // of another start
		}
		u.MaxRSS = max(u.MaxRSS, s.rss)
	}
	u.GPUSeconds = float64(countGPUs(r.tres)) * r.elapsed.Seconds()
	if b, err := strconv.ParseFloat(r.tres["billing"], 64); err == nil {
		u.Billed = fmt.Sprintf("%.0f billing-seconds", b*r.elapsed.Seconds())
	}
	return u
}

// OverMemory reports whether a job had more memory on a node than it asked for.
// Where no control group bounds it, Slurm looks now and then, kills the job, and
// says FAILED. slurm.conf(5), JobAcctGatherParams, OverMemoryKill.
func OverMemory(j *providers.Job, u *offer.Usage) bool {
	return u != nil && j.Shape.Memory > 0 && u.MaxRSS >= PerNode(j)
}

// PerNode is the memory that a job asks for on each of its nodes.
func PerNode(j *providers.Job) int64 { return j.Shape.Memory / int64(max(j.Shape.Nodes, 1)) }
