package planner

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// imageBytes is the field of a reason that says that an image holds other bytes.
const imageBytes = "image.bytes"

// Scheme is the version of the text under which result hashes are taken now.
const Scheme = result.Scheme

// A Hash is a result hash, or one over a request.
type Hash = result.Hash

// SourceDigest is the content of a source tree and where it comes from.
type SourceDigest = result.Source

// scheme is the scheme of a record's hashes.
func scheme(job *state.Job) int {
	if job.Scheme == 0 {
		return Scheme
	}
	return job.Scheme
}

// hashes compare jobs with the sources of their records.
type hashes struct {
	*facts
	phases
	now   *result.Hasher
	older map[int]*result.Hasher // for records made under earlier schemes

	sourceDiffs map[[2]string]string // files that differ between two versions of a source
	outputs     *outputsRead
	parts       map[listed]bool // whether the files of an input that are digested differ from those recorded
}

func (hs *hashes) schemesInUse() iter.Seq[int] {
	return slices.Values(append([]int{Scheme}, slices.Sorted(maps.Keys(hs.older))...))
}

// column is the hashes of a phase under a scheme.
func (w *draft) column(scheme int) []Hash {
	if scheme == Scheme {
		return w.pp.Result
	}
	return w.older[scheme]
}

// hashPhases computes result hashes, producers first. Where a changed job is
// accepted or the change ignored, its result stays, and so its consumers
// see the hash it was made under. Schemes are those of records.
func hashPhases(fs *facts, ps phases, schemes map[int]bool) (*hashes, diag.List) {
	hasher := func(scheme int) *result.Hasher {
		return result.New(scheme, fs.in.Observed.Sources).Read(fs.in.Observed.Contents)
	}
	hs := &hashes{facts: fs, phases: ps, outputs: &outputsRead{map[string]map[string]string{}, map[*lang.Input]map[int]string{}}, now: hasher(Scheme), older: map[int]*result.Hasher{}, sourceDiffs: map[[2]string]string{}, parts: map[listed]bool{}}
	newer := 0
	for s := range schemes {
		if _, ok := result.Schemes[s]; !ok {
			newer = max(newer, s)
		} else if s != Scheme {
			hs.older[s] = hasher(s)
		}
	}
	for _, w := range ps.drafts {
		hs.hashPhase(w)
	}
	var diags diag.List
	if newer > 0 {
		diags.Errorf("The state was written by a newer muster", "It holds hashes of scheme %d, and this muster knows schemes up to %d. Use the newer version for this campaign.", newer, Scheme)
	}
	return hs, diags
}

func (hs *hashes) hashPhase(w *draft) {
	w.pp.Result = hs.now.Phase(w.p)
	for s, h := range hs.older {
		if w.older == nil {
			w.older = map[int][]Hash{}
		}
		w.older[s] = h.Phase(w.p)
	}
	if w.rec == nil || hs.in.Options.Destroy {
		return
	}
	for i, job := range w.rec {
		if job != nil {
			hs.settleContents(w, i, job)
			hs.settlePartial(w, i, job)
			hs.settleOutputs(w, i, job)
			hs.keepAccepted(w, i, job)
		}
	}
}

// of is the hasher of a record.
func (hs *hashes) of(job *state.Job) *result.Hasher {
	if h := hs.older[scheme(job)]; h != nil {
		return h
	}
	return hs.now
}

// settleContents hashes a cell with the digests of its record where present ones are missing:
// a content that cannot be read now counts as recorded; a job that ran before muster recorded
// such digests is compared without one.
func (hs *hashes) settleContents(w *draft, i int, job *state.Job) {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" || job.InputBytes.Get(result.Image) == "" && len(w.p.Raw) == 0 && !hs.in.Observed.Contents.Has(w.p) || column[i].Is(job.Result) {
		return
	}
	for _, in := range w.p.Raw {
		if result.Bytes(in, w.pp.RawFiles(in, i)) == "" && hs.partChanged(w, in, i, job) {
			return
		}
	}
	if recorded := hs.of(job).With(w.p, i, hs.contentsOf(w, i, job)); recorded.Is(job.Result) {
		column[i] = recorded
	}
}

// contentsOf are the digests of a cell's contents, by name: as they are now, and as
// its record has them where that is not known.
func (hs *hashes) contentsOf(w *draft, i int, job *state.Job) func(name string) string {
	return func(name string) string {
		now := hs.in.Observed.Contents.Cell(w.p, lang.Run, name, i)
		if now == "" || name == result.Image && job.InputBytes.Get(name) == "" {
			return job.InputBytes.Get(name)
		}
		return now
	}
}

// keepAccepted keeps the recorded hash of a job whose change is accepted.
func (hs *hashes) keepAccepted(w *draft, i int, job *state.Job) {
	column := w.column(scheme(job))
	if column == nil || column[i].Is(job.Result) {
		return
	}
	recorded, ok := result.ParseHash(job.Result)
	if !ok {
		return
	}
	computed := column[i]
	switch {
	case job.Accepted != "" && job.Accepted == computed.String():
	case w.is(w.accept, i) && hs.observe(job).Status == state.Completed:
	case hs.ignored(w, i, job):
	default:
		return
	}
	if w.same == nil {
		w.same = map[int]Hash{}
	}
	w.same[i] = computed
	column[i] = recorded
}

// ignored reports whether a record differs only in fields that the phase's
// lifecycle ignores.
func (hs *hashes) ignored(w *draft, i int, job *state.Job) bool {
	ignore := w.p.Lifecycle.IgnoreChanges
	if len(ignore) == 0 || job.Status == state.Forgotten {
		return false
	}
	reasons, known := hs.changes(w, i, job)
	if !known || len(reasons) == 0 {
		return false
	}
	for _, r := range reasons {
		if !slices.ContainsFunc(ignore, func(f string) bool { return r.Field == f || strings.HasPrefix(r.Field, f+".") }) {
			return false
		}
	}
	return true
}

// unchanged reports whether a record was made from the job as it is now.
func (w *draft) unchanged(i int, job *state.Job) bool {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" {
		return true // an unknown scheme, which is an error of its own; or adopted, with no hash to compare
	}
	return column[i].Is(job.Result)
}

// sameRequest reports whether a record has the same request as the job now.
func (w *draft) sameRequest(i int, job *state.Job) bool {
	if job.Request == "" {
		return true
	}
	now := Hash(w.request(i).Hash)
	return now.Is(job.Request)
}

// changes are the fields in which a record differs from its job as written:
// from the stored definition, then source and inputs. known is false when the
// definition is not there to compare with.
func (hs *hashes) changes(w *draft, i int, job *state.Job) (reasons []Reason, known bool) {
	if def := hs.st.Definitions[job.Definition]; def != nil {
		if old, err := lang.FieldsOf(def, job.Axes.Map(), lang.Run); err == nil {
			reasons, known = change.Fields(old, w.p.Fields(i, lang.Run)), true
		}
	}
	if now := w.pp.Source.Digest; job.Source != now && (w.p.Source != nil || job.Source != "") {
		r := change.Of("source", change.Short(job.Source), change.Short(now))
		r.Files = hs.sourceFiles(job.Source, now)
		reasons = append(reasons, r)
	}
	if old, now := job.InputBytes.Get(result.Image), hs.in.Observed.Contents.Cell(w.p, lang.Run, result.Image, i); old != "" && now != "" && old != now {
		reasons = append(reasons, change.Of(imageBytes, change.Short(old), change.Short(now)))
	}
	reasons = append(reasons, hs.rawChanges(w, i, job)...)
	for _, in := range hs.now.Inputs(w.p) {
		now := hs.of(job).Input(in, in.GroupOf(i)).String()
		if more, known := hs.partialChange(in, i, job); known {
			reasons = append(reasons, more...)
			continue
		}
		if old := job.Inputs.Get(in.Name); old != "" && old != now {
			reasons = append(reasons, change.Of("input."+in.Name, change.Short(old), change.Short(now)))
		} else if old == "" && job.Inputs != nil {
			reasons = append(reasons, change.Of("input."+in.Name, "", in.From.Name))
		}
	}
	reasons = append(reasons, hs.outputChanges(w, job)...)
	for name, was := range job.Inputs.All() {
		if !slices.ContainsFunc(w.p.Inputs, func(in *lang.Input) bool { return in.Name == name }) {
			reasons = append(reasons, change.Of("input."+name, change.Short(was), ""))
		}
	}
	if len(reasons) == 0 {
		reasons = []Reason{change.Of("result", change.Short(job.Result), change.Short(w.pp.Result[i].String()))}
		return reasons, false
	}
	return reasons, known
}

// sourceFiles names the files in which two versions of a source differ; "" where
// one of them is not known.
func (hs *hashes) sourceFiles(old, now string) string {
	between := [2]string{old, now}
	if text, ok := hs.sourceDiffs[between]; ok {
		return text
	}
	was, is := hs.in.Observed.Versions[old], hs.in.Observed.Versions[now]
	var files []string
	if was != nil && is != nil {
		for _, path := range slices.Sorted(maps.Keys(is)) {
			if _, ok := was[path]; !ok {
				files = append(files, path+" (added)")
			} else if was[path] != is[path] {
				files = append(files, path)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(was)) {
			if _, ok := is[path]; !ok {
				files = append(files, path+" (gone)")
			}
		}
	}
	hs.sourceDiffs[between] = change.Names(files)
	return hs.sourceDiffs[between]
}

// requestChanges says that the request differs. Old values are not kept in
// the record, so the new one is named.
func requestChanges(w *draft, i int) Reason {
	r := w.request(i)
	return change.Of("request", "", fmt.Sprintf("%d CPUs, %d GPUs, %s", r.Shape.CPUs, r.Shape.GPUs, r.Shape.Walltime))
}
