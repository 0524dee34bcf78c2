package planner

import (
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An outputsRead holds the outputs that jobs read: those in records, and their present bytes.
type outputsRead struct {
	recorded map[string]map[string]string // by definition, then by input
	bytes    map[*lang.Input]map[int]string
}

// of are the outputs that the inputs of a recorded job read, by input.
func (or *outputsRead) of(st *state.State, job *state.Job) map[string]string {
	out, known := or.recorded[job.Definition]
	if !known {
		out = lang.OutputsReadOf(st.Definitions[job.Definition])
		or.recorded[job.Definition] = out
	}
	return out
}

// settleOutputs hashes a cell by the outputs that it reads, too, once its record was
// made from other outputs of the same producers with other bytes: the hash of a cell
// covers its producers alone.
func (hs *hashes) settleOutputs(w *draft, i int, job *state.Job) {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" || len(w.p.Inputs) == 0 {
		return
	}
	was := hs.outputs.of(hs.st, job)
	plain := column[i]
	recorded := plain
	if !plain.Is(job.Result) {
		if was == nil {
			was = readNow(w.p) // a glance at the state has no definitions
		}
		if recorded = hs.of(job).Reading(plain, w.p, was); !recorded.Is(job.Result) {
			return
		}
	}
	column[i] = recorded
	if hs.readsOthers(w, i, job, was) {
		column[i] = hs.of(job).Reading(plain, w.p, readNow(w.p))
	}
}

// readNow are the outputs that the inputs of a phase read, by input.
func readNow(p *lang.Phase) map[string]string {
	out := make(map[string]string, len(p.Inputs))
	for _, in := range p.Inputs {
		out[in.Name] = in.Output
	}
	return out
}

// readsOthers reports whether a cell reads another output than its record, which is
// not known to have the same bytes.
func (hs *hashes) readsOthers(w *draft, i int, job *state.Job, was map[string]string) bool {
	for _, in := range w.p.Inputs {
		if other := was[in.Name]; other == "" || other == in.Output {
			continue
		}
		if old := job.InputBytes.Get(in.Name); old == "" || old != hs.recordedBytes(in, in.GroupOf(i)) {
			return true
		}
	}
	return false
}

// recordedBytes is the digest of the bytes that a group reads, by the records of its
// producers; "" where one of them has none.
func (hs *hashes) recordedBytes(in *lang.Input, g int) string {
	known := hs.outputs.bytes[in]
	if known == nil {
		known = map[int]string{}
		hs.outputs.bytes[in] = known
	}
	if digest, ok := known[g]; ok {
		return digest
	}
	from := hs.byPhase[in.From.Name]
	var digests []string
	for _, p := range in.Members(g) {
		digest := ""
		if rec := from.record(p); rec != nil {
			digest = hs.in.Observed.Digest(rec, in.Output)
		}
		digests = append(digests, digest)
	}
	known[g] = offer.InputBytes(digests)
	return known[g]
}

// outputChanges are the inputs of a job that read other outputs than its record.
func (hs *hashes) outputChanges(w *draft, job *state.Job) (out []Reason) {
	was := hs.outputs.of(hs.st, job)
	for _, in := range w.p.Inputs {
		if other := was[in.Name]; other != "" && other != in.Output {
			from := "phase." + in.From.Name + ".output."
			out = append(out, change.Of("input."+in.Name, from+other, from+in.Output))
		}
	}
	return out
}

// readsSame reports whether a record was made from the outputs that a phase reads, as
// far as that is recorded.
func readsSame(st *state.State, p *lang.Phase, job *state.Job) bool {
	if len(p.Inputs) == 0 || job.Definition == p.Definition().Digest {
		return true
	}
	was := lang.OutputsReadOf(st.Definitions[job.Definition])
	return !slices.ContainsFunc(p.Inputs, func(in *lang.Input) bool {
		other := was[in.Name]
		return other != "" && other != in.Output
	})
}
