package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A turn is what a pool takes from the end of a job to the start of the next in
// its place, in the median and at most nine times in ten, and how often that was
// seen; 0 times = by the wait for an idle place.
type turn struct {
	each, late time.Duration
	times      int
}

// turn is what this campaign's launches say of a pool.
func (m *maker) turn(backend, pool string) turn {
	if m.turns == nil {
		m.turns = m.pastTurns()
	}
	return m.turns[poolName{backend, pool}]
}

func (m *maker) pastTurns() map[poolName]turn {
	seen := map[poolName]*evidence.Turnover{}
	for _, w := range m.works {
		ready := m.readyTimes(w)
		for i, job := range w.rec[:min(len(w.rec), askedJobs)] {
			if job == nil {
				continue
			}
			for k := range job.Attempts {
				at := &job.Attempts[k]
				name := poolName{at.Backend, at.Pool}
				if seen[name] == nil {
					seen[name] = &evidence.Turnover{}
				}
				var since time.Time
				if k == 0 {
					since = ready(i, at)
				}
				seen[name].Add(at, since)
			}
		}
	}
	out := map[poolName]turn{}
	for name, t := range seen {
		each, late, times := t.Takes()
		out[name] = turn{each, late, times}
	}
	return out
}

// readyTimes tells since when a cell's first launch waited for nothing but its
// turn: since the yes to the apply that handed it over, and all that it reads
// was there. Where a cap of ours held it back, that is part of its turn.
func (m *maker) readyTimes(w *work) func(cell int, at *state.Attempt) time.Time {
	var whole time.Time // end of the phases it waits for
	for _, name := range w.p.DependsOn {
		if from := m.byPhase[name]; from != nil {
			whole = later(whole, lastEnd(from, nil))
		}
	}
	ends := make([]map[int]time.Time, len(w.p.Inputs)) // of each input's groups
	return func(cell int, at *state.Attempt) time.Time {
		if at.Queued.IsZero() {
			return time.Time{}
		}
		since := later(m.begun(at.Queued), whole)
		if w.p.Smoke != nil || len(w.p.Pilot) > 0 || since.IsZero() { // a gate may have held it back
			since = later(at.Queued, whole)
		}
		for k, in := range w.p.Inputs {
			if ends[k] == nil {
				ends[k] = map[int]time.Time{}
			}
			g := in.GroupOf(cell)
			if _, ok := ends[k][g]; !ok {
				ends[k][g] = lastEnd(m.byPhase[in.From.Name], in.Members(g))
			}
			since = later(since, ends[k][g])
		}
		return since
	}
}

// lastEnd is when the last of some cells of a phase ended; nil = of all.
func lastEnd(w *work, cells []int) (end time.Time) {
	if w == nil {
		return end
	}
	look := func(job *state.Job) {
		if job != nil && job.Last() != nil {
			end = later(end, job.Last().Ended)
		}
	}
	if cells == nil {
		for _, job := range w.rec {
			look(job)
		}
	}
	for _, c := range cells {
		if c < len(w.rec) {
			look(w.rec[c])
		}
	}
	return end
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A turn is worth a word from so long on, and from this share of a runtime.
const (
	leastTurn = 100 * time.Millisecond
	shownTurn = 0.05
)

// noteTurn says what is counted between jobs, where it makes a difference.
func (m *maker) noteTurn(w *work, d *place.Decision) {
	t := m.turn(d.Backend, d.Pool)
	if t.each < leastTurn || t.each.Seconds() < shownTurn*m.evidence(w).OnPool(*d).Expected.Seconds() {
		return
	}
	seen := "as long as this campaign's jobs waited for an idle place"
	if t.times > 0 {
		seen = fmt.Sprintf("the median of %d of this campaign", t.times)
	}
	m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("On %s, %s is counted between the end of a job and the start of the next: %s.",
		strings.TrimSuffix(d.Backend+" "+d.Pool, " "), units.FormatDuration(t.each.Round(100*time.Millisecond)), seen))
}
