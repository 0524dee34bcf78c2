package apply

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

// deletions delete the outputs that a destroy lists, place by place, and forget the
// jobs whose results these were: a later apply makes them again.
type deletions struct {
	*run
	places remover
	gone   int // outputs that are deleted
	left   int // and that could not be
}

// A remover is the backends of a run; see backends.Set.
type remover interface {
	FilesOf(backend, pool string) string
	Remove(name string, files []backends.File, told func(n int, err error)) bool
}

// delete deletes the files on a plan's list.
func (dl *deletions) delete(list []planner.Deletion) {
	by := map[string][]planner.Deletion{} // by where they are
	for _, d := range list {
		name := dl.locationOf(d)
		by[name] = append(by[name], d)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		dl.deleteAt(name, by[name])
	}
}

// deleteAt deletes outputs that are among the files of one name.
func (dl *deletions) deleteAt(name string, ds []planner.Deletion) {
	files := make([]backends.File, len(ds))
	for i, d := range ds {
		files[i] = backends.File{Path: d.Path, Pattern: d.Glob}
		if d.Workdir != "" && !path.IsAbs(d.Path) {
			files[i].Path = path.Join(d.Workdir, d.Path)
		}
	}
	all := len(ds)
	reached := dl.places.Remove(name, files, func(n int, err error) {
		these := ds[:n]
		ds = ds[n:]
		if err != nil {
			dl.Note("backend."+these[0].Backend, fmt.Sprintf("outputs on backend.%s were not deleted: %v", name, err), true)
			dl.left += n
			return
		}
		dl.gone += n
		dl.deleted(these)
	})
	if !reached {
		dl.Note("backend."+name, fmt.Sprintf("%d outputs on backend.%s are not deleted: it cannot be reached", all, name), true)
		dl.left += all
	}
}

// locationOf names whose files an output is among.
func (dl *deletions) locationOf(d planner.Deletion) string {
	j := dl.st.Jobs[d.Address]
	if j == nil || j.Last() == nil || j.Last().Backend != d.Backend {
		return d.Backend
	}
	return dl.places.FilesOf(d.Backend, j.Last().Pool)
}

// deleted records deleted files, and their outputs.
func (dl *deletions) deleted(ds []planner.Deletion) {
	for _, d := range ds {
		j := dl.st.Jobs[d.Address]
		if j == nil {
			continue
		}
		if o := staging.OutputNamed(j, d.Output); o != nil {
			gone := *o
			gone.Missing = true
			dl.Emit(state.OutputsSeen{Address: d.Address, Outputs: []state.Output{gone}, At: dl.Clock()})
		}
		if j.Status == state.Completed {
			dl.Emit(state.Forgot{Address: d.Address, At: dl.Clock()})
		}
	}
}
