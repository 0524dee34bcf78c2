// Package deletion deletes the outputs that a plan lists, place by place, and
// forgets the jobs whose results these were: a later apply makes them anew. It
// is told how files are deleted, and knows nothing of backends.
package deletion

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/state"
)

// A Run is what deleting needs of the run that it works for. All of it is called
// in the loop.
type Run struct {
	State *state.State // read alone; what changes goes through Emit
	Emit  func(state.Event)
	Note  func(address, text string, bad bool)
	Now   func() time.Time
	// Spot names whose files the jobs of a pool leave theirs among.
	Spot func(backend, pool string) string
	// Remove deletes files that lie among those of one name, and tells of each n
	// of them, in order, that they are gone, or why not. False: the place cannot
	// be reached, and nothing is told.
	Remove func(name string, files []fleet.File, told func(n int, err error)) bool

	Gone int // outputs that are deleted
	Left int // and that could not be
}

// Delete deletes what a plan lists.
func (r *Run) Delete(list []planner.Deletion) {
	by := map[string][]planner.Deletion{} // by where they lie
	for _, d := range list {
		name := r.liesAt(d)
		by[name] = append(by[name], d)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		r.deleteAt(name, by[name])
	}
}

// deleteAt deletes outputs that lie among the files of one name.
func (r *Run) deleteAt(name string, ds []planner.Deletion) {
	files := make([]fleet.File, len(ds))
	for i, d := range ds {
		files[i] = fleet.File{Path: d.Path, Pattern: d.Glob}
		if d.Workdir != "" && !path.IsAbs(d.Path) {
			files[i].Path = path.Join(d.Workdir, d.Path)
		}
	}
	all := len(ds)
	reached := r.Remove(name, files, func(n int, err error) {
		these := ds[:n]
		ds = ds[n:]
		if err != nil {
			r.Note("backend."+these[0].Backend, fmt.Sprintf("outputs on backend.%s were not deleted: %v", name, err), true)
			r.Left += n
			return
		}
		r.Gone += n
		r.deleted(these)
	})
	if !reached {
		r.Note("backend."+name, fmt.Sprintf("%d outputs on backend.%s are not deleted: it cannot be reached", all, name), true)
		r.Left += all
	}
}

// liesAt names whose files an output is among.
func (r *Run) liesAt(d planner.Deletion) string {
	j := r.State.Jobs[d.Address]
	if j == nil || j.Last() == nil || j.Last().Backend != d.Backend {
		return d.Backend
	}
	return r.Spot(d.Backend, j.Last().Pool)
}

// deleted records that files are gone, and what they were of.
func (r *Run) deleted(ds []planner.Deletion) {
	for _, d := range ds {
		j := r.State.Jobs[d.Address]
		if j == nil {
			continue
		}
		if o := freight.OutputNamed(j, d.Output); o != nil {
			gone := *o
			gone.Missing = true
			r.Emit(state.OutputsSeen{Address: d.Address, Outputs: []state.Output{gone}, At: r.Now()})
		}
		if j.Status == state.Completed {
			r.Emit(state.Forgot{Address: d.Address, At: r.Now()})
		}
	}
}
