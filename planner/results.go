package planner

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

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

func (m *maker) schemesInUse() iter.Seq[int] {
	return slices.Values(append([]int{Scheme}, slices.Sorted(maps.Keys(m.older))...))
}

// column is the hashes of a phase under a scheme.
func (w *work) column(scheme int) []Hash {
	if scheme == Scheme {
		return w.pp.Result
	}
	return w.older[scheme]
}

// hashPhases computes result hashes, producers first. Where a changed job is
// accepted or the change ignored, what it made stands, and so its consumers
// see the hash it was made under.
func (m *maker) hashPhases() {
	m.findSchemes()
	for _, w := range m.works {
		w.pp.Result = m.hash.Phase(w.p)
		for s, h := range m.older {
			if w.older == nil {
				w.older = map[int][]Hash{}
			}
			w.older[s] = h.Phase(w.p)
		}
		if w.rec == nil || m.in.Options.Destroy {
			continue
		}
		for i, job := range w.rec {
			if job != nil {
				m.settleContents(w, i, job)
				m.letStand(w, i, job)
			}
		}
	}
}

func (m *maker) findSchemes() {
	newer := 0
	for s := range m.seenSchemes {
		if _, ok := result.Schemes[s]; !ok {
			newer = max(newer, s)
		} else if s != Scheme {
			m.older[s] = result.New(s, m.in.Observed.Sources).Read(m.in.Observed.Contents)
		}
	}
	if newer > 0 {
		m.diags.Errorf("the state was written by a newer muster", "It holds hashes of scheme %d, and this muster knows schemes up to %d. Use the newer version for this campaign.", newer, Scheme)
	}
}

// settleContents hashes a cell by what its record knows, where that is another
// thing than what is known now: a content that cannot be looked at just now is as
// it was recorded; a job that ran before such digests were recorded is compared
// without one.
func (m *maker) settleContents(w *work, i int, job *state.Job) {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" || job.InputBytes[result.Image] == "" && len(w.p.Raw) == 0 && !m.in.Observed.Contents.Has(w.p) || column[i].Is(job.Result) {
		return
	}
	hasher := m.hash
	if h := m.older[scheme(job)]; h != nil {
		hasher = h
	}
	now := func(name string) string { return m.in.Observed.Contents.Cell(w.p, lang.Run, name, i) }
	recorded := hasher.With(w.p, i, func(name string) string {
		if now(name) == "" || name == result.Image && job.InputBytes[name] == "" {
			return job.InputBytes[name]
		}
		return now(name)
	})
	if recorded.Is(job.Result) {
		column[i] = recorded
	}
}

// letStand keeps the recorded hash of a job whose change is accepted.
func (m *maker) letStand(w *work, i int, job *state.Job) {
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
	case w.is(w.accept, i) && m.observe(job).Status == state.Completed:
	case m.ignored(w, i, job):
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
func (m *maker) ignored(w *work, i int, job *state.Job) bool {
	ignore := w.p.Lifecycle.IgnoreChanges
	if len(ignore) == 0 || job.Status == state.Forgotten {
		return false
	}
	reasons, known := m.changes(w, i, job)
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
func (m *maker) unchanged(w *work, i int, job *state.Job) bool {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" {
		return true // an unknown scheme, which is an error of its own; or adopted, with no hash to compare
	}
	return column[i].Is(job.Result)
}

// sameRequest reports whether a record asked for what the job asks for now.
func (w *work) sameRequest(i int, job *state.Job) bool {
	if job.Request == "" {
		return true
	}
	now := Hash(w.reqs[w.p.RequestOf(i, lang.Run)].Hash)
	return now.Is(job.Request)
}

// changes are the fields in which a record differs from its job as written:
// from the stored definition, then source and inputs. known is false when the
// definition is not there to compare with.
func (m *maker) changes(w *work, i int, job *state.Job) (reasons []Reason, known bool) {
	if def := m.st.Definitions[job.Definition]; def != nil {
		if old, err := lang.FieldsOf(def, job.Axes, lang.Run); err == nil {
			reasons, known = change.Fields(old, w.p.Fields(i, lang.Run)), true
		}
	}
	if now := w.pp.Source.Digest; job.Source != now && (w.p.Source != nil || job.Source != "") {
		reasons = append(reasons, change.Of("source", change.Short(job.Source), change.Short(now)))
	}
	if old, now := job.InputBytes[result.Image], m.in.Observed.Contents.Cell(w.p, lang.Run, result.Image, i); old != "" && now != "" && old != now {
		reasons = append(reasons, change.Of(imageBytes, change.Short(old), change.Short(now)))
	}
	reasons = append(reasons, m.rawChanges(w, i, job)...)
	for _, in := range m.hash.Inputs(w.p) {
		hasher := m.hash
		if s := scheme(job); s != Scheme && m.older[s] != nil {
			hasher = m.older[s]
		}
		now := hasher.Input(in, in.GroupOf(i)).String()
		if old, ok := job.Inputs[in.Name]; ok && old != now {
			reasons = append(reasons, change.Of("input."+in.Name, change.Short(old), change.Short(now)))
		} else if !ok && job.Inputs != nil {
			reasons = append(reasons, change.Of("input."+in.Name, "", in.From.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(job.Inputs)) {
		if !slices.ContainsFunc(w.p.Inputs, func(in *lang.Input) bool { return in.Name == name }) {
			reasons = append(reasons, change.Of("input."+name, change.Short(job.Inputs[name]), ""))
		}
	}
	if len(reasons) == 0 {
		reasons = []Reason{change.Of("result", change.Short(job.Result), change.Short(w.pp.Result[i].String()))}
		return reasons, false
	}
	return reasons, known
}

// requestChanges says that the request differs. Old values are not kept in
// the record, so the new one is named.
func requestChanges(w *work, i int) Reason {
	r := w.reqs[w.p.RequestOf(i, lang.Run)]
	return change.Of("request", "", fmt.Sprintf("%d CPUs, %d GPUs, %s", r.Shape.CPUs, r.Shape.GPUs, r.Shape.Walltime))
}
