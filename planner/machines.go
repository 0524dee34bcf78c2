package planner

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/evidence"
)

// worthTelling is from how many launches on that a plan is expected to lose
// with their machines it says so.
const worthTelling = 0.1

// noteMachines says what a plan assumes of machines that fail: the figures of
// what has no history count none, and at a known rate some will.
func (m *maker) noteMachines() {
	hours, lost := 0.0, 0.0
	var bare []string // phases whose jobs would not be launched again
	for _, w := range m.works {
		if !w.starting() || m.evidence(w).Launches > 0 {
			continue
		}
		before := lost
		for at, n := range w.groupJobs() {
			d := w.pp.Placements[at]
			if n == 0 || d.Backend == "" {
				continue
			}
			each, machines := m.evidence(w).OnPool(d).Expected, max(d.Shape.Nodes, 1)
			hours += float64(n*machines) * each.Hours()
			lost += float64(n) * evidence.LostWithMachines(machines, each)
		}
		if r := w.p.Retry; lost > before && (r.MaxAttempts < 2 || !slices.Contains(r.On, "node_failure")) {
			bare = append(bare, "phase."+w.p.Name)
		}
	}
	if lost < worthTelling {
		return
	}
	text := fmt.Sprintf("Assumed: no machine fails. One does in about %.0f days of use, so of these %s machine-hours about %.2g launches would be lost; `muster rehearse` plays that.",
		1/(24*evidence.MachineFailures), units.FormatCount(int64(math.Round(hours))), lost)
	if len(bare) > 0 {
		text += fmt.Sprintf(" Without a retry on node_failure they stay failed: %s.", some(bare))
	}
	m.plan.Notes = append(m.plan.Notes, text)
}
