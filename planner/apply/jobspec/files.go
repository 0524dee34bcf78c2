package jobspec

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// FillFiles adds the inputs and outputs of a job.
func FillFiles(job *providers.Job, p *lang.Phase, r lang.Rendered, paths func(input string) []string) {
	for _, in := range p.Inputs {
		job.Inputs = append(job.Inputs, providers.Input{Name: in.Name, Paths: paths(in.Name), List: listFile(r, job, in.Name, in.Partial()), Partial: in.Partial()})
	}
	for _, in := range p.Raw {
		job.Inputs = append(job.Inputs, providers.Input{Name: in.Name, Paths: paths(in.Name), List: listFile(r, job, in.Name, false)})
	}
	for i, out := range r.Outputs {
		job.Outputs = append(job.Outputs, Output(OutputOf(p, out.Name, i), out.Name, out.Path))
	}
	for _, q := range r.Files {
		job.Require = append(job.Require, providers.Require{Path: q.Path, MinSize: q.MinSize, Message: q.Message})
	}
	job.Watch = providers.Watch{Forbid: p.Watch.Forbid, StalledAfter: p.Watch.StalledAfter, Ready: p.Watch.Ready, ReadyWithin: p.Watch.ReadyWithin, End: p.Watch.OnStall != "" && p.Watch.OnStall != lang.StallTell}
	if job.Smoke && p.Smoke != nil && len(p.Smoke.Forbid) > 0 {
		job.Watch.Forbid = slices.Concat(p.Smoke.Forbid, p.Watch.Forbid)
	}
	if s := p.Scratch; s != nil {
		job.Scratch = &offer.Scratch{In: s.In, Out: s.Out}
	}
	job.Discard = r.Discard
	if c := p.Checkpoint; c != nil && r.Checkpoint != "" {
		job.Checkpoint = checkpoint(c, r.Checkpoint, job.Shape.Nodes)
		// A smoke that resumed from the one before it would prove nothing.
		job.Checkpoint.Fresh = job.Smoke && strings.HasPrefix(r.Checkpoint, path.Join(job.Workdir, lang.SmokeFolder)+"/")
	}
}

// listFile is where the list of an input is to be written, "" if the job
// reads none. A partial input has one however many files it has.
func listFile(r lang.Rendered, job *providers.Job, input string, partial bool) string {
	if _, ok := r.InputFiles[input]; !ok && !partial {
		return ""
	}
	return lang.ListPath(path.Join(job.Workdir, ".muster", "lists", job.Token), input)
}

// OutputOf is the declared output of a name; at is where it is likely to be.
func OutputOf(p *lang.Phase, name string, at int) *lang.Output {
	if at >= 0 && at < len(p.Outputs) && p.Outputs[at].Name == name {
		return p.Outputs[at]
	}
	if i := slices.IndexFunc(p.Outputs, func(o *lang.Output) bool { return o.Name == name }); i >= 0 {
		return p.Outputs[i]
	}
	return nil
}

// jobEnv puts the job's variables after the backend's. Phases without any
// share one slice.
func jobEnv(base []providers.EnvVar, own []lang.EnvVar) []providers.EnvVar {
	if len(own) == 0 {
		return base
	}
	out := make([]providers.EnvVar, len(base), len(base)+len(own))
	copy(out, base)
	for _, v := range own {
		out = append(out, providers.EnvVar{Name: v.Name, Value: v.Value})
	}
	return out
}

// Output is an output as a backend gets it; d is its declaration, nil if
// there is none.
func Output(d *lang.Output, name, path string) providers.Output {
	o := providers.Output{Name: name, Path: path}
	if d == nil {
		return o
	}
	o.Kind, o.MinCount, o.MinSize, o.Shared = string(d.Kind), d.MinCount, d.MinSize, d.Shared
	o.VerifyTimeout, o.VerifyMaxSize = d.VerifyTimeout, d.VerifyMaxSize
	if d.Kind == lang.Glob && d.MinCount == 0 {
		o.MinCount = providers.NoneNeeded
	}
	o.Verify = checks(d.Verify)
	return o
}

// checkpoint is the checkpoint of a job on a number of nodes as a backend gets it.
func checkpoint(c *lang.Checkpoint, path string, nodes int) providers.Checkpoint {
	return providers.Checkpoint{Path: path, Glob: c.Kind == lang.Glob, Interval: c.Every(nodes), Steps: c.Steps(nodes), Signal: c.Signal, Grace: c.Grace,
		MinSize: c.MinSize, Verify: checks(c.Verify), VerifyTimeout: c.Timeout, Keep: c.Keep, KeepLowest: c.KeepLowest, KeepHighest: c.KeepHighest}
}

func checks(verify []lang.Verify) (out []providers.VerifyCheck) {
	for _, v := range verify {
		out = append(out, providers.VerifyCheck{Kind: v.Kind, Command: v.Command, File: v.File})
	}
	return out
}

// Declared are the outputs of a job as a backend gets them for verification: each with the
// metrics that are read from it.
func Declared(p *lang.Phase, cell int) []providers.Output {
	out := make([]providers.Output, len(p.Outputs))
	for k, d := range p.Outputs {
		out[k] = Output(d, d.Name, p.OutputPath(cell, d.Name, lang.Run))
		for _, m := range p.Metrics {
			if m.Output == d.Name {
				read := metric(m)
				read.Required = m.Required || !m.Stated // a file without its metric may be cut short
				out[k].Metrics = append(out[k].Metrics, read)
			}
		}
	}
	return out
}

// ToRead is a recorded output as it is opened to read a metric again: none of its checks run.
func ToRead(p *lang.Phase, o state.Output, m lang.Metric) providers.Output {
	var d *lang.Output
	for _, declared := range p.Outputs {
		if declared.Name == o.Name {
			d = declared
		}
	}
	out := Output(d, o.Name, o.Path)
	out.Verify, out.MinSize = nil, 0
	read := metric(m)
	read.Required = false
	out.Metrics = []providers.Metric{read}
	return out
}

// metric is a metric as a backend gets it.
func metric(m lang.Metric) providers.Metric {
	return providers.Metric{Name: m.Name, Output: m.Output, JSON: m.JSON, Column: m.Column, Regex: m.Regex, Required: m.Required}
}

// KindOf is the kind of a recorded output: several files are those of a
// pattern or of a folder, none are those of a pattern that matched nothing.
func KindOf(o *state.Output) lang.OutputKind {
	pattern := strings.ContainsAny(o.Path, "*?[{")
	switch {
	case o.Files > 0 && !pattern:
		return lang.Dir
	case o.Files > 0, pattern && o.MTime == 0: // a file has a time
		return lang.Glob
	}
	return lang.File
}
