package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// rawChanges are the changes in the files of inputs that no phase makes, file by
// file. The field of a file is input.NAME:PATH.
func (hs *hashes) rawChanges(w *draft, i int, job *state.Job) (out []Reason) {
	for _, in := range w.p.Raw {
		files := w.pp.RawFiles(in, i)
		old, now := job.InputBytes.Get(in.Name), result.Bytes(in, files)
		if now == "" && !hs.partChanged(w, in, i, job) || now != "" && old == now {
			continue
		}
		field := "input." + in.Name
		was := result.Listed(hs.st.Definitions[old])
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
			switch digest, listed := was[f.Path]; {
			case f.Digest == "" && !listed:
				out = append(out, change.Of(field+":"+f.Path, "", "not yet digested"))
			case f.Digest != "" && digest != f.Digest:
				out = append(out, change.Of(field+":"+f.Path, change.Short(digest), change.Short(f.Digest)))
			}
			delete(was, f.Path)
		}
		for _, path := range slices.Sorted(maps.Keys(was)) {
			out = append(out, change.Of(field+":"+path, change.Short(was[path]), ""))
		}
	}
	for name, was := range job.InputBytes.All() {
		if from := job.Inputs.Get(strings.TrimSuffix(name, lang.MissingOf(""))) != ""; name != result.Image && !from && !slices.ContainsFunc(w.p.Raw, func(in *lang.RawInput) bool { return in.Name == name }) {
			out = append(out, change.Of("input."+name, change.Short(was), ""))
		}
	}
	return out
}

// A listed is a list of files beside the digest of a recorded one.
type listed struct {
	first *result.File
	old   string
}

// partChanged reports whether a list of files differs from the recorded one, although
// some of its files are not digested yet: a digested file holds other bytes, or a file
// came or went.
func (hs *hashes) partChanged(w *draft, in *lang.RawInput, i int, job *state.Job) bool {
	files, old := w.pp.RawFiles(in, i), job.InputBytes.Get(in.Name)
	if len(files) == 0 || old == "" {
		return false
	}
	of := listed{&files[0], old}
	changed, known := hs.parts[of] // many jobs read one list
	if !known {
		was := result.Listed(hs.st.Definitions[old])
		changed = was != nil && (len(files) != len(was) || slices.ContainsFunc(files, func(f result.File) bool {
			digest, ok := was[f.Path]
			return !ok || f.Digest != "" && f.Digest != digest
		}))
		hs.parts[of] = changed
	}
	return changed
}
