package retry

import (
	"fmt"
	"time"
)

const (
	rateWindow = time.Minute
	repeatRate = 120 // launches a minute, in one phase, of jobs that were launched before
	rentalRate = 30  // launches a minute on machines that are rented
)

// A Rate bounds launches that can come of launches: without it a job that
// fails at once and is retried at once would start processes, or rent
// machines, as fast as the loop turns. The zero value allows.
type Rate struct {
	windows map[string]*launchWindow
}

type launchWindow struct {
	since time.Time
	n     int
}

// A Launch is one launch, as the ceiling counts it.
type Launch struct {
	Phase  string
	Rents  string // the backend, where it rents; "" elsewhere
	Repeat bool   // of a job that was launched before
}

// Until is when one more launch is under the ceiling; zero when it is now.
func (r *Rate) Until(l Launch, now time.Time) time.Time {
	if w := r.windows["rent "+l.Rents]; l.Rents != "" && w != nil && w.full(now, rentalRate) {
		return w.since.Add(rateWindow)
	}
	if w := r.windows["again "+l.Phase]; w != nil && w.full(now, repeatRate) {
		return w.since.Add(rateWindow)
	}
	return time.Time{}
}

// Why says why a launch waits until a time.
func (r *Rate) Why(until, now time.Time) string {
	return fmt.Sprintf("it had as many launches as it may have in a minute; the next one is in %s", max(until.Sub(now), time.Second).Round(time.Second))
}

func (w *launchWindow) full(now time.Time, limit int) bool {
	return now.Sub(w.since) < rateWindow && w.n >= limit
}

// Count enters a launch.
func (r *Rate) Count(l Launch, now time.Time) {
	if l.Rents != "" {
		r.add(now, "rent "+l.Rents)
	}
	if l.Repeat {
		r.add(now, "again "+l.Phase)
	}
}

func (r *Rate) add(now time.Time, key string) {
	if r.windows == nil {
		r.windows = map[string]*launchWindow{}
	}
	w := r.windows[key]
	if w == nil {
		w = &launchWindow{since: now}
		r.windows[key] = w
	}
	if now.Sub(w.since) >= rateWindow {
		w.since, w.n = now, 0
	}
	w.n++
}
