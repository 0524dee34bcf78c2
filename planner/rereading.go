package planner

import (
	"encoding/json"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// A Rereading lists the metrics that an apply reads again from the outputs of a phase's
// completed jobs, without running them, since their definition has changed.
type Rereading struct {
	Jobs     int      `json:"jobs"`
	Metrics  []string `json:"metrics"`
	Backends []string `json:"backends"` // that have the outputs
}

// Readings knows by which definitions the metrics of recorded jobs were read.
type Readings struct {
	definitions map[string]json.RawMessage
	prints      map[string]map[string]string // by digest of a definition
}

// NewReadings reads the definitions of a state, each when it is first asked about.
func NewReadings(definitions map[string]json.RawMessage) Readings {
	return Readings{definitions, map[string]map[string]string{}}
}

// Outdated are the metrics of a completed job that are to be read again: those whose
// definition is another one than that by which they were read. Where no definition is
// recorded, as by older versions, those without a value.
func (rs Readings) Outdated(p *lang.Phase, job *state.Job) (out []lang.Metric) {
	if job == nil || job.Smoke || job.Status != state.Completed || len(p.Metrics) == 0 {
		return nil
	}
	by := rs.by(job)
	for _, m := range p.Metrics {
		was := job.Read.Get(m.Name)
		if was == "" {
			was = by[m.Name]
		}
		if was == m.Print() || was == "" && job.Metrics[m.Name] != "" {
			continue
		}
		if slices.ContainsFunc(job.Outputs, func(o state.Output) bool { return o.Name == m.Output && o.Digest != "" && !o.Missing }) {
			out = append(out, m)
		}
	}
	return out
}

// by are the fingerprints of the metrics as a job was submitted.
func (rs Readings) by(job *state.Job) map[string]string {
	by, ok := rs.prints[job.Definition]
	if !ok {
		by = lang.PrintsOf(rs.definitions[job.Definition])
		rs.prints[job.Definition] = by
	}
	return by
}

// wouldFail are the metrics of a job in a queue that have another definition now, and
// without which it fails.
func (rs Readings) wouldFail(p *lang.Phase, job *state.Job) (names []string) {
	for _, m := range p.Metrics {
		if was := rs.by(job)[m.Name]; m.Required && was != "" && was != m.Print() {
			names = append(names, m.Name)
		}
	}
	return names
}

// reread finds the metrics that an apply reads again.
func reread(st *state.State, phases []*PhasePlan) (jobs int) {
	rs := NewReadings(st.Definitions)
	for _, pp := range phases {
		if len(pp.Phase.Metrics) == 0 || pp.Records == nil {
			continue
		}
		var r Rereading
		for i := range pp.Kind {
			if !pp.Rereads(i) {
				continue
			}
			if metrics := rs.Outdated(pp.Phase, pp.Record(i)); len(metrics) > 0 {
				r.add(pp.Record(i), metrics)
			}
		}
		if jobs += r.Jobs; r.Jobs > 0 {
			pp.Reread = &r
		}
	}
	return jobs
}

func (r *Rereading) add(job *state.Job, metrics []lang.Metric) {
	r.Jobs++
	for _, m := range metrics {
		if !slices.Contains(r.Metrics, m.Name) {
			r.Metrics = append(r.Metrics, m.Name)
		}
		for _, o := range job.Outputs {
			if o.Name == m.Output && !slices.Contains(r.Backends, o.Backend) {
				r.Backends = append(r.Backends, o.Backend)
			}
		}
	}
}

// Rereads reports whether a cell keeps a result whose metrics an apply may read again.
func (pp *PhasePlan) Rereads(cell int) bool {
	k := pp.Kind[cell]
	return k == None || k == Move || k == Accept
}
