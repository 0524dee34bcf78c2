package advice

import (
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A launch is one attempt that ended, of a job that is still in the campaign.
type launch = history.Attempt

// A group is a phase with its history.
type group struct {
	phase    *lang.Phase
	records  []*state.Job // by cell; nil where one was never attempted
	launches []launch     // in the order of the cells
	left     int          // cells that have not completed
	past     *history.Past
}

// gather lays the records beside the cells of the campaign. Smokes are shorter than their
// jobs, and do not count here. has picks jobs by address; nil picks all.
func gather(in Input, has func(address string) bool) []*group {
	records := history.ByCell(in.Campaign, in.State, has)
	var out []*group
	for _, p := range in.Campaign.Phases {
		out = append(out, &group{phase: p, left: p.Len(), records: records[p.Name]})
	}
	for _, g := range out {
		for _, job := range g.records {
			if job != nil && job.Status == state.Completed {
				g.left--
			}
		}
		g.past = history.PastOf(g.phase, g.records, in.State.Definitions)
		g.launches = g.past.Launches()
	}
	return out
}

// shape is the request of a cell, as the campaign is written now.
func (g *group) shape(cell int) offer.Shape {
	return g.phase.Requests(lang.Run)[g.phase.RequestOf(cell, lang.Run)].Shape
}

// A class is the cells of a phase that ask for the same of one resource.
type class struct {
	*group
	asked    float64
	launches []launch
	jobs     int // of the phase
	left     int // that have not completed
	only     bool
}

// classes groups a phase's cells by their request of a resource, most first; 0 means no
// request.
func (g *group) classes(of func(offer.Shape) float64) []*class {
	by := map[float64]*class{}
	var out []*class
	requests := g.phase.Requests(lang.Run)
	asks := make([]*class, len(requests))
	for i, r := range requests {
		v := of(r.Shape)
		if by[v] == nil {
			by[v] = &class{group: g, asked: v}
			out = append(out, by[v])
		}
		asks[i] = by[v]
	}
	for cell := range g.phase.Len() {
		c := asks[g.phase.RequestOf(cell, lang.Run)]
		c.jobs++
		if len(g.records) == 0 || g.records[cell] == nil || g.records[cell].Status != state.Completed {
			c.left++
		}
	}
	for _, l := range g.launches {
		c := asks[g.phase.RequestOf(l.Cell, lang.Run)]
		c.launches = append(c.launches, l)
	}
	out = slices.DeleteFunc(out, func(c *class) bool { return c.jobs == 0 })
	for _, c := range out {
		c.only = len(out) == 1
	}
	slices.SortFunc(out, func(a, b *class) int { return -compare(a.asked, b.asked) })
	return out
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// who says which jobs a class is, "" for all of the phase.
func (c *class) who() string {
	if c.only {
		return ""
	}
	return count(c.jobs, "job", "jobs") + " of " + count(c.phase.Len(), "job", "jobs")
}

// measures are the values of a resource over launches, where it was measured.
func measures(launches []launch, of func(launch) (float64, bool)) []float64 {
	var out []float64
	for _, l := range launches {
		if v, ok := of(l); ok {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// The use of one launch. Memory counts for every end; time and cores only for completed ones.
func usedMemory(l launch) (float64, bool) {
	used, ok := l.Memory()
	return float64(used), ok
}

// usedTime is how long a job's work took, all segments of it together.
func (g *group) usedTime(l launch) (float64, bool) {
	if d := history.Elapsed(l.At); !l.Completed || d <= 0 {
		return 0, false
	}
	return float64(history.Worked(g.phase, l.Job)), true
}

// usedTurn is how long a launch ran that came to its end, or whose work was gone
// on with.
func usedTurn(l launch) (float64, bool) {
	d := history.Elapsed(l.At)
	return float64(d), (l.Completed || l.GoesOn) && d > 0
}

// shortest is the least time over which processor seconds say anything about cores: below it,
// most of the measured time is start-up.
const shortest = time.Second

func usedCores(l launch) (float64, bool) {
	d := history.Elapsed(l.At)
	if !l.Completed || d < shortest || l.At.Usage == nil || l.At.Usage.CPU <= 0 {
		return 0, false
	}
	return l.At.Usage.CPU / d.Seconds(), true
}

// usedDevice is the most memory of a device that was in use; 0 says that
// none was touched.
func usedDevice(l launch) (float64, bool) {
	if !l.Completed || l.At.Usage == nil || l.At.Usage.GPUMaxMem < 0 || l.At.Usage.GPUSeconds <= 0 {
		return 0, false
	}
	return float64(l.At.Usage.GPUMaxMem), true
}

// failed are the launches that ended in one of the classes.
func failed(launches []launch, classes ...string) []launch {
	var out []launch
	for _, l := range launches {
		if slices.Contains(classes, l.At.Class) && !l.GoesOn {
			out = append(out, l)
		}
	}
	return out
}

// corner names the axis values that all of some launches share and others do
// not: "N=512", or "" where there are none.
func (g *group) corner(some []launch) string {
	var shared []string
	for a, axis := range g.phase.Grid.Axes {
		if slices.Contains(g.phase.Grid.Repeat, axis.Name) || len(axis.Values) < 2 {
			continue
		}
		at := g.phase.Grid.Coord(some[0].Cell, a)
		if !slices.ContainsFunc(some, func(l launch) bool { return g.phase.Grid.Coord(l.Cell, a) != at }) {
			shared = append(shared, axis.Name+"="+axis.Values[at].Text)
		}
	}
	return strings.Join(shared, ", ")
}

func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

func most(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)-1]
}
