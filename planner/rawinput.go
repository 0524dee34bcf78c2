package planner

import (
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// rawChanges are the changes in the files of inputs that no phase makes, file by
// file. The field of a file is input.NAME:PATH.
func (m *maker) rawChanges(w *work, i int, job *state.Job) (out []Reason) {
	for _, in := range w.p.Raw {
		files := w.pp.RawFiles(in, i)
		old, now := job.InputBytes[in.Name], result.Bytes(in, files)
		if now == "" || old == now {
			continue
		}
		field := "input." + in.Name
		was := result.Listed(m.st.Definitions[old])
		switch {
		case old == "":
			out = append(out, change.Of(field, "", in.Path(i)))
			continue
		case was == nil && !in.List():
			out = append(out, change.Of(field+":"+files[0].Path, change.Short(old), change.Short(now)))
			continue
		case was == nil:
			out = append(out, change.Of(field, change.Short(old), change.Short(now)))
			continue
		}
		for _, f := range files {
			if was[f.Path] != f.Digest {
				out = append(out, change.Of(field+":"+f.Path, change.Short(was[f.Path]), change.Short(f.Digest)))
			}
			delete(was, f.Path)
		}
		for _, path := range slices.Sorted(maps.Keys(was)) {
			out = append(out, change.Of(field+":"+path, change.Short(was[path]), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(job.InputBytes)) {
		if _, from := job.Inputs[name]; name != result.Image && !from && !slices.ContainsFunc(w.p.Raw, func(in *lang.RawInput) bool { return in.Name == name }) {
			out = append(out, change.Of("input."+name, change.Short(job.InputBytes[name]), ""))
		}
	}
	return out
}
