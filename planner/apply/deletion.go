package apply

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/freight"
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
	by := map[string][]planner.Deletion{} // by where they lie
	for _, d := range e.Plan.Deletions {
		name := e.liesAt(d)
		by[name] = append(by[name], d)
	}
	for _, name := range sortedKeys(by) {
		b := e.fleet.At(providers.CutAt(name))
		if b == nil || b.Provider == nil {
			e.report.note(e, "backend."+name, fmt.Sprintf("%d outputs on backend.%s are not deleted: it cannot be reached", len(by[name]), name), true)
			e.undeleted += len(by[name])
			continue
		}
		for ds := by[name]; len(ds) > 0; {
			n := min(len(ds), deleteMax)
			e.deleteSome(b, name, ds[:n])
			ds = ds[n:]
		}
	}
}

// liesAt names whose files an output to be deleted is among.
func (e *engine) liesAt(d planner.Deletion) string {
	c, j := e.fleet.Contacts[d.Backend], e.st.Jobs[d.Address]
	if c == nil || j == nil || j.Last() == nil || j.Last().Backend != d.Backend {
		return d.Backend
	}
	return c.Spot(j.Last().Pool).Name()
}

func (e *engine) deleteSome(b *fleet.Backend, name string, ds []planner.Deletion) {
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(e.ctx, deleteTime)
		defer cancel()
		r := providers.RemoveRequest{Backend: name, Fence: e.Session.Fence(), Holder: e.Session.Holder()}
		for _, d := range ds {
			file := d.Path
			if d.Workdir != "" && !path.IsAbs(file) {
				file = path.Join(d.Workdir, file)
			}
			if !d.Glob {
				r.Paths = append(r.Paths, file)
				continue
			}
			found, lerr := b.Provider.List(ctx, name, []string{file})
			if lerr != nil {
				err = lerr
				return
			}
			for _, f := range found {
				r.Paths = append(r.Paths, f.Path)
			}
		}
		if len(r.Paths) > 0 {
			err = b.Provider.Remove(ctx, r)
		}
	}, func() {
		if err != nil {
			e.report.note(e, "backend."+b.Name, fmt.Sprintf("outputs on backend.%s were not deleted: %v", name, err), true)
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
