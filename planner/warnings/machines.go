package warnings

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/history"
)

// worthTelling is from how many launches on that a plan is expected to lose
// with their machines it says so.
const worthTelling = 0.1

// Launches are alike jobs of a phase without history that a plan starts.
type Launches struct {
	Phase    string
	Jobs     int
	Machines int           // that each takes
	Each     time.Duration // how long each is expected to run
	Again    bool          // lost jobs are launched again
}

// Machines notes a plan's assumption about machines that fail: without history the figures
// count none, and at a known rate some will fail.
func Machines(runs []Launches) []string {
	hours, lost := 0.0, 0.0
	var bare []string // phases whose jobs would not be launched again
	for _, r := range runs {
		hours += float64(r.Jobs*r.Machines) * r.Each.Hours()
		with := float64(r.Jobs) * history.LostWithMachines(r.Machines, r.Each)
		lost += with
		if name := "phase." + r.Phase; with > 0 && !r.Again && !slices.Contains(bare, name) {
			bare = append(bare, name)
		}
	}
	if lost < worthTelling {
		return nil
	}
	text := fmt.Sprintf("Assumed: no machine fails. One does in about %.0f days of use, so of these %s machine-hours about %.2g launches would be lost; `muster rehearse` simulates that.",
		1/(24*history.MachineFailures), units.FormatCount(int64(math.Round(hours))), lost)
	if len(bare) > 0 {
		text += fmt.Sprintf(" Without a retry on node_failure they stay failed: %s.", Some(bare))
	}
	return []string{text}
}
