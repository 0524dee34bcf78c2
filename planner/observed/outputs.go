package observed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/state"
)

// Broken names the recorded outputs that are not there or not whole, unless a
// verified copy lies elsewhere. Nil in the common case.
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
		if o.OK || r.copied(f.Job, o.Name) {
			continue
		}
		out = append(out, fmt.Sprintf("output %s: %s: %s", o.Name, o.Path, cmp.Or(o.Verdict, "missing")))
	}
	return out
}

// Asked reports whether a refresh looked at the files on a backend: what it
// does not tell of is as recorded, or is back.
func (r *Refresh) Asked(backend string) bool {
	_, away := r.Unreachable[backend]
	return r.Refreshed && !away
}

// copied reports whether a copy of an output lies elsewhere, as far as anybody
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
