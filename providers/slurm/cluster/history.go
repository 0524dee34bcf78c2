package cluster

import (
	"fmt"
	"strconv"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A history is accounting's record of one element: its rows, oldest first, and
// its steps.
type history struct {
	rows  []accountRow
	steps []accountRow
}

// histories are rows of sacct, in its order, by element.
func histories(rows []accountRow) map[scheduler.ElementID]*history {
	out := map[scheduler.ElementID]*history{}
	for _, r := range rows {
		k := scheduler.ElementID{Array: r.Array, Index: r.index}
		h := out[k]
		if h == nil {
			h = &history{}
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

// usage is the measured use of a row's launch: memory is the largest of its
// steps. nil = it never began.
func (h *history) usage(r *accountRow) *offer.Usage {
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
