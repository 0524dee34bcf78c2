package observed

import (
	"cmp"
	"fmt"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/providers/offer"
	"slices"
	"strings"

	"github.com/muster-run/muster/state"
)

// Broken names the recorded outputs that are not there or not whole, unless a
// verified copy is elsewhere. Nil in the common case.
func (r *Refresh) Broken(f Fact) []string {
	seen := f.Outputs
	if seen == nil {
		seen = r.Outputs[f.Job.Address]
	}
	var out []string
	for k := range f.Job.Outputs {
		o := &f.Job.Outputs[k]
		if len(o.Copies) > 0 {
			continue
		}
		if o.Missing && seen == nil && !(f.Job.Status == state.Completed && r.Asked(o.Backend)) {
			out = append(out, fmt.Sprintf("output %s: %s is missing", o.Name, o.Path))
		}
	}
	for _, o := range seen {
		if o.OK || o.Present && altered(RecordOf(f.Job, o.Name), &o) || r.copied(f.Job, o.Name) {
			continue
		}
		out = append(out, fmt.Sprintf("output %s: %s: %s", o.Name, o.Path, cmp.Or(o.Verdict, "missing")))
	}
	return out
}

// Altered names recorded outputs whose bytes differ from their record, with their present
// state. Nil in the common case.
func (r *Refresh) Altered(job *state.Job) (texts []string, now []state.Output) {
	for i := range r.Outputs[job.Address] {
		o := &r.Outputs[job.Address][i]
		rec := RecordOf(job, o.Name)
		if !altered(rec, o) {
			continue
		}
		what := "it was " + change.Short(rec.Digest) + ", and is " + change.Short(o.Digest)
		if o.Digest == "" {
			what = o.Verdict
		}
		texts = append(texts, fmt.Sprintf("output %s: %s: %s", o.Name, o.Path, what))
		now = append(now, As(rec, o))
	}
	return texts, now
}

// altered reports whether another file has taken the place of a recorded
// output. An unreadable one does not count.
func altered(rec *state.Output, o *offer.Output) bool {
	if rec == nil || rec.Digest == "" || !o.Present {
		return false
	}
	if o.Digest == "" {
		return o.Size != rec.Size || o.MTime != rec.MTime
	}
	return o.Digest != rec.Digest
}

// As is the record of an output with its observation.
func As(rec *state.Output, o *offer.Output) state.Output {
	out := *rec
	out.Size, out.Digest, out.MTime, out.Inode, out.CTime, out.Files, out.Missing = o.Size, o.Digest, o.MTime, o.Inode, o.CTime, o.Files, false
	if o.Digest != rec.Digest {
		out.Copies = nil // they are of other bytes
	}
	return out
}

// RecordOf is the record of an output, nil if a job has none of that name.
func RecordOf(job *state.Job, name string) *state.Output {
	for i := range job.Outputs {
		if job.Outputs[i].Name == name {
			return &job.Outputs[i]
		}
	}
	return nil
}

// Asked reports whether a refresh looked at the files on a backend: files that it does not
// name are as recorded, or back.
func (r *Refresh) Asked(backend string) bool {
	_, away := r.Unreachable[backend]
	return r.Refreshed && !away
}

// copied reports whether a copy of an output is elsewhere, as far as anybody
// looked.
func (r *Refresh) copied(job *state.Job, name string) bool {
	if slices.Contains(r.Uncopied[job.Address], name) {
		return false
	}
	for _, o := range job.Outputs {
		if o.Name == name {
			return len(o.Copies) > 0
		}
	}
	return false
}

// Lacks are the names of the outputs that Broken speaks of.
func Lacks(broken []string) []string {
	var out []string
	for _, text := range broken {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "output "), ":")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Digest is the digest of an output as last seen.
func (r *Refresh) Digest(job *state.Job, name string) string {
	if job == nil {
		return ""
	}
	for _, o := range r.Outputs[job.Address] {
		if o.Name == name && o.OK && o.Digest != "" {
			return o.Digest
		}
	}
	for k := range job.Outputs {
		if job.Outputs[k].Name == name {
			return job.Outputs[k].Digest
		}
	}
	return ""
}
