package sim

import (
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// A pack is jobs that share one job of a scheduler.
type pack struct {
	began   time.Time      // when the first of them did
	running []offer.Change // since then
	slots   int            // where they take turns: in which one runs, or is to start
	waiting []*job         // for their turns
}

// packOf is the pack of a job; nil = it is alone.
func (w *world) packOf(j *job) *pack {
	if j.Pack != "" && w.packs[j.Pack] == nil {
		w.packs[j.Pack] = &pack{}
	}
	return w.packs[j.Pack]
}

// awaitsTurn reports whether a job waits for others of its pack; if not, it has a slot.
func (w *world) awaitsTurn(j *job) bool {
	if j.Pack == "" || j.Shape.Turns() < 2 || j.slot {
		return false
	}
	p := w.packOf(j)
	if p.slots == j.Shape.Beside() {
		p.waiting = append(p.waiting, j)
		return true
	}
	p.slots, j.slot = p.slots+1, true
	return false
}

// runs notes that a job of a pack begins (1) or ends (-1).
func (w *world) runs(j *job, by int) {
	if p := w.packOf(j); p != nil {
		if p.began.IsZero() {
			p.began = w.now
		}
		p.running = append(p.running, offer.Change{At: w.now.UnixNano(), By: by})
	}
}

// leavesPack starts another job of a pack in the slot of one that ended. A job that does not
// fit in the time of the allocation waits in the queue again.
func (w *world) leavesPack(j *job, name string, shape offer.Shape) {
	p := w.packs[name]
	if p == nil || shape.Turns() < 2 {
		return
	}
	if i := slices.Index(p.waiting, j); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	p.slots--
	i := slices.IndexFunc(p.waiting, func(n *job) bool { return !n.held })
	if i >= 0 && !w.now.Add(shape.Walltime).After(p.began.Add(shape.Lasts())) {
		next := p.waiting[i]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.slots, next.slot = p.slots+1, true
		next.line = w.lineOf(next)
		w.start(next)
		return
	}
	if p.slots == 0 {
		delete(w.packs, name)
		for _, n := range p.waiting {
			w.queue(n)
		}
	}
}
