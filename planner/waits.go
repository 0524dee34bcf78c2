package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/queues"
)

// queues are what this campaign's jobs say of queues, from when it is decided
// which record is whose.
func (m *maker) queues() *queues.Past {
	if m.past == nil {
		m.past = &queues.Past{Smokes: m.smokes, Approvals: m.st.Approvals, Rents: m.rents}
		for _, w := range m.works {
			m.past.Phases = append(m.past.Phases, queues.Phase{Phase: w.p, Records: w.rec})
		}
	}
	return m.past
}

// rents reports whether a backend's machines are rented for the jobs.
func (m *maker) rents(backend string) bool {
	return slices.ContainsFunc(m.in.Campaign.Backends, func(b *lang.Backend) bool { return b.Address() == backend && m.in.Can[b.Type].Rents })
}

// noteWait says where a wait comes from that nobody has quoted.
func (m *maker) noteWait(d *place.Decision) {
	switch {
	case d.Backend == "":
	case d.Wait < 0:
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("The queue wait on %s is not known and counted as none.", d.Where()))
	case d.Waited:
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("The queue wait on %s is not quoted; %s is counted, as this campaign's jobs waited there.",
			d.Where(), units.FormatDuration(d.Wait.Round(time.Second))))
	}
}

// A turn is worth a word from so long on, and from this share of a runtime.
const (
	leastTurn = 100 * time.Millisecond
	shownTurn = 0.05
)

// noteTurn says what is counted between jobs, where it makes a difference.
func (m *maker) noteTurn(w *work, d *place.Decision) {
	t := m.queues().Turn(d.Backend, d.Pool)
	if t.Each < leastTurn || t.Each.Seconds() < shownTurn*m.evidence(w).OnPool(*d).Expected.Seconds() {
		return
	}
	seen := "as long as this campaign's jobs waited for an idle place"
	if t.Times > 0 {
		seen = fmt.Sprintf("the median of %d of this campaign", t.Times)
	}
	m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("On %s, %s is counted between the end of a job and the start of the next: %s.",
		d.Where(), units.FormatDuration(t.Each.Round(100*time.Millisecond)), seen))
}
