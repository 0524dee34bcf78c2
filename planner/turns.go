package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/place"
)

// A turn is what a pool takes from the end of a job to the start of the next in
// its place, and how often that was seen; 0 times = by the wait for an idle place.
type turn struct {
	each  time.Duration
	times int
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
		free := len(w.p.Inputs) == 0 && len(w.p.DependsOn) == 0
		for _, job := range w.rec {
			if job == nil {
				continue
			}
			for k := range job.Attempts {
				at := &job.Attempts[k]
				name := poolName{at.Backend, at.Pool}
				if seen[name] == nil {
					seen[name] = &evidence.Turnover{}
				}
				seen[name].Add(at, free && k == 0)
			}
		}
	}
	out := map[poolName]turn{}
	for name, t := range seen {
		each, times := t.Takes()
		out[name] = turn{each, times}
	}
	return out
}

// shownTurn is the share of a job's runtime from which a turn is worth a word.
const shownTurn = 0.05

// noteTurn says what is counted between jobs, where it makes a difference.
func (m *maker) noteTurn(w *work, d *place.Decision) {
	t := m.turn(d.Backend, d.Pool)
	if t.each < time.Second || t.each.Seconds() < shownTurn*m.evidence(w).OnPool(*d).Expected.Seconds() {
		return
	}
	seen := "as long as this campaign's jobs waited for an idle place"
	if t.times > 0 {
		seen = fmt.Sprintf("the median of %d of this campaign", t.times)
	}
	m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("On %s, %s is counted between the end of a job and the start of the next: %s.",
		strings.TrimSuffix(d.Backend+" "+d.Pool, " "), units.FormatDuration(t.each.Round(100*time.Millisecond)), seen))
}
