package apply

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

const (
	deleteMax  = 1000            // outputs of one call
	deleteTime = 2 * time.Minute // for one call
)

// deleteOutputs deletes what the plan lists, under the fence of this run, and
// forgets the jobs whose results these were: a later apply makes them anew.
func (e *engine) deleteOutputs() {
	by := map[string][]planner.Deletion{}
	for _, d := range e.Plan.Deletions {
		by[d.Backend] = append(by[d.Backend], d)
	}
	for _, name := range sortedKeys(by) {
		b := e.backends[name]
		if b == nil || b.p == nil {
			e.report.note(e, "backend."+name, fmt.Sprintf("%d outputs on backend.%s are not deleted: it cannot be reached", len(by[name]), name), true)
			e.undeleted += len(by[name])
			continue
		}
		for ds := by[name]; len(ds) > 0; {
			n := min(len(ds), deleteMax)
			e.deleteSome(b, ds[:n])
			ds = ds[n:]
		}
	}
}

func (e *engine) deleteSome(b *backend, ds []planner.Deletion) {
	var err error
	e.call(b, func() {
		ctx, cancel := context.WithTimeout(e.ctx, deleteTime)
		defer cancel()
		r := providers.RemoveRequest{Backend: b.name, Fence: e.Session.Fence()}
		for _, d := range ds {
			file := d.Path
			if d.Workdir != "" && !path.IsAbs(file) {
				file = path.Join(d.Workdir, file)
			}
			if !d.Glob {
				r.Paths = append(r.Paths, file)
				continue
			}
			found, lerr := b.p.List(ctx, b.name, []string{file})
			if lerr != nil {
				err = lerr
				return
			}
			for _, f := range found {
				r.Paths = append(r.Paths, f.Path)
			}
		}
		if len(r.Paths) > 0 {
			err = b.p.Remove(ctx, r)
		}
	}, func() {
		if err != nil {
			e.report.note(e, "backend."+b.name, fmt.Sprintf("outputs on backend.%s were not deleted: %v", b.name, err), true)
			e.undeleted += len(ds)
			return
		}
		e.removed += len(ds)
		e.deleted(ds)
	})
}

// deleted records that files are gone, and what they were of.
func (e *engine) deleted(ds []planner.Deletion) {
	for _, d := range ds {
		j := e.st.Jobs[d.Address]
		if j == nil {
			continue
		}
		if o := outputNamed(j, d.Output); o != nil {
			gone := *o
			gone.Missing = true
			e.emit(state.OutputsSeen{Address: d.Address, Outputs: []state.Output{gone}, At: e.Clock()})
		}
		if j.Status == state.Completed {
			e.emit(state.Forgot{Address: d.Address, At: e.Clock()})
		}
	}
}
