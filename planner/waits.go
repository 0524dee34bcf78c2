package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A poolName is a pool of a backend.
type poolName struct{ backend, pool string }

// waited is how long this campaign's jobs stood in the queue of a pool: the
// median over phases and smokes that wait for nothing but the queue, of each
// the shortest, since the others of a phase may have waited for a cap of ours.
// It stands in where the backend quotes no wait.
func (m *maker) waited(backend, pool string) (time.Duration, bool) {
	if m.waits == nil {
		m.waits = m.pastWaits()
	}
	list := m.waits[poolName{backend, pool}]
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)/2], true
}

// pastWaits are the waits seen, by pool, shortest first.
func (m *maker) pastWaits() map[poolName][]time.Duration {
	out := map[poolName][]time.Duration{}
	add := func(jobs []*state.Job) {
		least := map[poolName]time.Duration{}
		for _, job := range jobs {
			if job == nil || len(job.Attempts) == 0 {
				continue
			}
			at := &job.Attempts[0]
			if at.Queued.IsZero() || at.Started.IsZero() {
				continue
			}
			name := poolName{at.Backend, at.Pool}
			if d, ok := least[name]; !ok || evidence.Waited(at) < d {
				least[name] = evidence.Waited(at)
			}
		}
		for name, d := range least {
			out[name] = append(out[name], d)
		}
	}
	for _, w := range m.works {
		if len(w.p.Inputs) == 0 && len(w.p.DependsOn) == 0 {
			add(w.pp.Records)
		}
	}
	for _, smoke := range m.smokes {
		add([]*state.Job{smoke})
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// noteWait says where a wait comes from that nobody has quoted.
func (m *maker) noteWait(d *place.Decision) {
	where := strings.TrimSuffix(d.Backend+" "+d.Pool, " ")
	switch past, ok := m.asked(d); {
	case d.Backend == "":
	case d.Wait < 0:
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("The queue wait on %s is not known and counted as none.", where))
	case ok && past == d.Wait:
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("The queue wait on %s is not quoted; %s is counted, as this campaign's jobs waited there.",
			where, units.FormatDuration(d.Wait.Round(time.Second))))
	}
}

// asked is the wait seen on the pool of a decision, if any was asked for.
func (m *maker) asked(d *place.Decision) (time.Duration, bool) {
	if m.waits == nil {
		return 0, false
	}
	return m.waited(d.Backend, d.Pool)
}
