package apply

import (
	"fmt"
	"path"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// deleteOutputs deletes what the plan lists, under the fence of this run, and
// forgets the jobs whose results these were: a later apply makes them anew.
func (e *engine) deleteOutputs() {
	by := map[string][]planner.Deletion{} // by where they lie
	for _, d := range e.Plan.Deletions {
		name := e.liesAt(d)
		by[name] = append(by[name], d)
	}
	for _, name := range sortedKeys(by) {
		b := e.fleet.At(providers.CutAt(name))
		if b == nil || b.Provider == nil {
			e.report.Note("backend."+name, fmt.Sprintf("%d outputs on backend.%s are not deleted: it cannot be reached", len(by[name]), name), true)
			e.undeleted += len(by[name])
			continue
		}
		e.deleteAt(b, name, by[name])
	}
}

// deleteAt deletes outputs that lie among the files of one name.
func (e *engine) deleteAt(b *fleet.Backend, name string, ds []planner.Deletion) {
	files := make([]fleet.File, len(ds))
	for i, d := range ds {
		files[i] = fleet.File{Path: d.Path, Pattern: d.Glob}
		if d.Workdir != "" && !path.IsAbs(d.Path) {
			files[i].Path = path.Join(d.Workdir, d.Path)
		}
	}
	e.fleet.Remove(b, name, files, func(n int, err error) {
		these := ds[:n]
		ds = ds[n:]
		if err != nil {
			e.report.Note("backend."+b.Name, fmt.Sprintf("outputs on backend.%s were not deleted: %v", name, err), true)
			e.undeleted += n
			return
		}
		e.removed += n
		e.deleted(these)
	})
}

// liesAt names whose files an output to be deleted is among.
func (e *engine) liesAt(d planner.Deletion) string {
	c, j := e.fleet.Contacts[d.Backend], e.st.Jobs[d.Address]
	if c == nil || j == nil || j.Last() == nil || j.Last().Backend != d.Backend {
		return d.Backend
	}
	return c.Spot(j.Last().Pool).Name()
}

// deleted records that files are gone, and what they were of.
func (e *engine) deleted(ds []planner.Deletion) {
	for _, d := range ds {
		j := e.st.Jobs[d.Address]
		if j == nil {
			continue
		}
		if o := freight.OutputNamed(j, d.Output); o != nil {
			gone := *o
			gone.Missing = true
			e.emit(state.OutputsSeen{Address: d.Address, Outputs: []state.Output{gone}, At: e.Clock()})
		}
		if j.Status == state.Completed {
			e.emit(state.Forgot{Address: d.Address, At: e.Clock()})
		}
	}
}
