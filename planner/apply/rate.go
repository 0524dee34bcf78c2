package apply

import "time"

const (
	rateWindow   = time.Minute
	repeatRate   = 120 // launches a minute, in one phase, of jobs that were launched before
	rentalRate   = 30  // launches a minute on machines that are rented
	rateAskAgain = time.Second
)

// A rate bounds launches that can come of launches: without it a job that
// fails at once and is retried at once would start processes, or rent
// machines, as fast as the loop turns.
type rate struct {
	windows map[string]*window
}

type window struct {
	since time.Time
	n     int
}

// allows reports whether one more launch is under the ceiling; if not, the
// loop is woken when the window is over.
func (r *rate) allows(e *engine, p *phase, b *backend, n int) bool {
	now := e.Clock()
	if w := r.windows["rent "+b.name]; b.can.Rents && w != nil && w.full(now, rentalRate) {
		e.wakeAt(w.since.Add(rateWindow))
		return false
	}
	if w := r.windows["again "+p.Name]; w != nil && w.full(now, repeatRate) {
		e.wakeAt(w.since.Add(rateWindow))
		return false
	}
	return true
}

func (w *window) full(now time.Time, limit int) bool {
	return now.Sub(w.since) < rateWindow && w.n >= limit
}

// count enters a launch.
func (r *rate) count(e *engine, f *flight) {
	if f.b.can.Rents {
		r.add(e.Clock(), "rent "+f.b.name)
	}
	if f.n > 1 {
		r.add(e.Clock(), "again "+f.p.Name)
	}
}

func (r *rate) add(now time.Time, key string) {
	if r.windows == nil {
		r.windows = map[string]*window{}
	}
	w := r.windows[key]
	if w == nil {
		w = &window{since: now}
		r.windows[key] = w
	}
	if now.Sub(w.since) >= rateWindow {
		w.since, w.n = now, 0
	}
	w.n++
}
