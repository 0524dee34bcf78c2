package planfile

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

// WriteJSON writes one document: the plan, then its jobs as the member
// "jobs", one a line, so that it streams at any size. Members in more are
// added before them, diagnostics for instance.
func WriteJSON(w io.Writer, p *planner.Plan, muster string, more map[string]any) error {
	return writeJSON(w, newDocument(p, muster), more, planJobs(p))
}

// WriteJSON writes the saved plan as one document, with the members in more.
func (f *File) WriteJSON(w io.Writer, more map[string]any) error {
	return writeJSON(w, f.Head.document(), more, f.jobs())
}

// WriteJSONL writes the saved plan as one object a line.
func (f *File) WriteJSONL(w io.Writer) error { return writeJSONL(w, f.Head.document(), f.jobs()) }

// jobs yields jobs in campaign order.
type jobs func(yield func(Job) bool)

func writeJSON(w io.Writer, d Document, more map[string]any, all jobs) error {
	out := bufio.NewWriterSize(w, 1<<16)
	head, err := json.Marshal(d)
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1]) // leave it open
	for _, name := range sortedNames(more) {
		label, _ := json.Marshal(name)
		text, err := json.Marshal(more[name])
		if err != nil {
			return err
		}
		out.WriteByte(',')
		out.Write(append(append(label, ':'), text...))
	}
	out.WriteString(`,"jobs":[`)
	sep := "\n"
	for j := range all {
		text, err := json.Marshal(j)
		if err != nil {
			return err
		}
		out.WriteString(sep)
		if _, err := out.Write(text); err != nil {
			return err
		}
		sep = ",\n"
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

func writeJSONL(w io.Writer, d Document, all jobs) error {
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	if err := enc.Encode(d); err != nil {
		return err
	}
	for j := range all {
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return out.Flush()
}

// planJobs are the jobs of a plan in memory.
func planJobs(p *planner.Plan) jobs {
	return func(yield func(Job) bool) {
		for _, pp := range p.Phases {
			for i, k := range pp.Kind {
				j := jobOf(pp.Phase.Name, pp.Phase.Key(i), k, detail(pp.Detail(i)), before(pp.Record(i)))
				j.Result, j.Pilot = pp.Result[i].String(), slices.Contains(pp.Pilot, i)
				j.place(pp.Decision(i))
				if !yield(j) {
					return
				}
			}
		}
	}
}

// jobs are the jobs of a saved plan.
func (f *File) jobs() jobs {
	return func(yield func(Job) bool) {
		for n, p := range f.Head.Phases {
			c := &f.phases[n]
			for i, k := range c.kind {
				j := jobOf(p.Name, c.key(i), k, c.details[i], c.before(i))
				j.Result, j.Pilot = c.result[i].String(), slices.Contains(p.Pilot, i)
				if at := int(c.place[i]); at < len(p.Placements) {
					j.place(p.Placements[at])
				}
				if !yield(j) {
					return
				}
			}
		}
	}
}

func jobOf(phase, key string, k planner.Kind, d Detail, b Before) Job {
	j := Job{
		Type: "job", Address: address(phase, key), Phase: phase, Key: key, Action: k.String(), Destroy: d.Destroy || k.Destroys(),
		Reasons: reasons(d.Reasons), From: d.From, Waits: d.Waits, Text: d.Text, starts: k.Starts(),
	}
	for _, o := range d.Foreign {
		j.Replaces = append(j.Replaces, o.Path)
	}
	if b.Status != "" {
		j.Before = &BeforeDocument{string(b.Status), b.Attempt, b.Result}
	}
	return j
}

func (j *Job) place(d place.Decision) {
	if j.starts {
		j.Backend, j.Pool = d.Backend, d.Pool
	}
}
