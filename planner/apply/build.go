package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A spec is what every job of a phase on one backend shares.
type spec struct {
	backend *backend
	env     []providers.EnvVar
	retry   providers.Retry
	breaker providers.Breaker
	rules   []failure.Rule
	metrics []providers.Metric
	secrets []providers.EnvVar
	err     error // a secret that could not be read
}

// share prepares a phase's spec for a backend, once.
func (e *engine) share(p *phase, b *backend) *spec {
	if p.base.backend == b {
		return &p.base
	}
	s := spec{backend: b, env: b.env, rules: Rules(e.Campaign),
		breaker: providers.Breaker{SameError: p.Breaker.SameError, Share: p.Breaker.Share}}
	s.retry = providers.Retry{On: p.Retry.On, Delay: p.Retry.Delay}
	for class, f := range p.Retry.Scale {
		if s.retry.Scale == nil {
			s.retry.Scale = map[string]providers.Scale{}
		}
		s.retry.Scale[class] = providers.Scale(f)
	}
	for _, m := range p.Metrics {
		s.metrics = append(s.metrics, providers.Metric{Name: m.Name, Output: m.Output, JSON: m.JSON, Column: m.Column, Regex: m.Regex})
	}
	for _, sec := range p.Secrets {
		v, err := e.Secrets(sec)
		if err != nil {
			s.err = fmt.Errorf("read secret %s: %w", sec.Name, err)
			break
		}
		s.secrets = append(s.secrets, providers.EnvVar{Name: sec.Name, Value: v})
	}
	p.base = s
	return &p.base
}

// Rules are the campaign's own failure catalogue as providers take it.
func Rules(c *lang.Campaign) []failure.Rule {
	var out []failure.Rule
	for _, f := range c.Failures {
		class := f.Class
		if class == "" {
			class = f.Name
		}
		out = append(out, failure.Rule{Name: f.Name, Match: f.Match, Exit: f.ExitCodes, Class: class, Action: f.Action, Hint: f.Hint})
	}
	return out
}

// build renders the job of a flight for its backend, and the record that its
// intent leaves.
func (e *engine) build(f *flight) (*providers.Job, state.Job, diag.List) {
	p, cell, v := f.p, int(f.cell), lang.Run
	if f.smoke {
		v = lang.SmokeRun
	}
	s := e.share(p, f.b)
	if s.err != nil {
		var l diag.List
		l.Errorf("A secret cannot be read", "%v", s.err)
		return nil, state.Job{}, l
	}
	req := p.Requests(v)[p.RequestOf(cell, v)]
	shape := e.scaled(f, req.Shape)
	workdir := f.b.conf.Workdir
	r, diags := p.Render(cell, lang.Site{
		Variant: v, Workdir: workdir, SourceDir: p.code.dir(workdir), Spool: path.Join(workdir, ".muster", "lists", f.token),
		Input: func(name string) []string { return e.inputPaths(f, name) }, Backend: f.b.name, Pool: f.pool,
		GPUs: shape.GPUs, CPUs: shape.CPUs,
	})
	if diags.HasErrors() {
		return nil, state.Job{}, diags
	}
	job := &providers.Job{
		Token: f.token, Address: f.addr, Phase: p.Name, Name: r.Label, Attempt: f.n, Pool: f.pool,
		Shell: r.Shell, Argv: r.Argv, Workdir: workdir, Dir: r.Dir, Setup: site.Setup(f.b.lang, r.Setup), Env: jobEnv(s.env, r.Env),
		Secrets: s.secrets, Image: r.Image, Shape: shape, Options: options(req.Options, f.b.conf.Type),
		Metrics: s.metrics, Breaker: s.breaker, Cap: p.MaxParallel, Rules: s.rules, Smoke: f.smoke,
		ResultHash: p.resultText(f.cell, f.smoke), After: e.after(f), MoveAside: e.moveAside(f),
	}
	job.Retry = e.ridingRetry(f, s)
	e.fillFiles(f, job, r)
	return job, e.record(f, req, r.Label), diags
}

// fillFiles adds what a job reads and leaves behind.
func (e *engine) fillFiles(f *flight, job *providers.Job, r lang.Rendered) {
	p := f.p
	for _, in := range p.Inputs {
		job.Inputs = append(job.Inputs, providers.Input{Name: in.Name, Paths: e.inputPaths(f, in.Name), List: listFile(r, job, in.Name)})
	}
	for i, out := range r.Outputs {
		o := providers.Output{Name: out.Name, Path: out.Path}
		if d := p.output(out.Name, i); d != nil {
			o.Kind, o.MinCount, o.MinSize, o.Shared = string(d.Kind), d.MinCount, d.MinSize, d.Shared
			for _, v := range d.Verify {
				o.Verify = append(o.Verify, providers.VerifyCheck{Kind: v.Kind, Command: v.Command, File: v.File})
			}
		}
		job.Outputs = append(job.Outputs, o)
	}
	for _, q := range r.Files {
		job.Require = append(job.Require, providers.Require{Path: q.Path, MinSize: q.MinSize, Message: q.Message})
	}
	if c := p.Checkpoint; c != nil && r.Checkpoint != "" {
		job.Checkpoint = providers.Checkpoint{Path: r.Checkpoint, Interval: c.Interval, Signal: c.Signal, Grace: c.Grace}
	}
}

// listFile is where the list of an input is to be written, "" if the job
// reads none.
func listFile(r lang.Rendered, job *providers.Job, input string) string {
	if _, ok := r.InputFiles[input]; !ok {
		return ""
	}
	return lang.ListPath(path.Join(job.Workdir, ".muster", "lists", job.Token), input)
}

// record is the identity under which a job is remembered.
func (e *engine) record(f *flight, req lang.Request, label string) state.Job {
	p, cell := f.p, int(f.cell)
	if p.defined == "" {
		d := p.Definition()
		if _, ok := e.st.Definitions[d.Digest]; !ok {
			e.emit(state.Defined{Digest: d.Digest, Definition: d.JSON})
		}
		p.defined = d.Digest
	}
	j := state.Job{
		Address: f.addr, Phase: p.Name, Axes: p.Axes(cell), Smoke: f.smoke, Name: label, Definition: p.defined,
		Scheme: planner.Scheme, Result: p.resultText(f.cell, f.smoke), Request: planner.Hash(req.Hash).String(),
		Source: p.plan.Source.Digest,
	}
	if len(p.Inputs) > 0 {
		j.Inputs = e.Plan.InputHashes(p.plan, cell)
		j.InputBytes = e.inputBytes(p, f.cell)
	}
	return j
}

// resultText is a cell's result hash, or its smoke's fingerprint, in hex.
func (p *phase) resultText(cell int32, smoke bool) string {
	if smoke {
		return p.gate.print(cell)
	}
	if int(cell) >= len(p.plan.Result) || p.plan.Result[cell].IsZero() {
		return ""
	}
	return p.plan.Result[cell].String()
}

func (p *phase) output(name string, at int) *lang.Output {
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

func options(by map[string]json.RawMessage, backendType string) json.RawMessage {
	return by[backendType]
}

// moveAside says where the outputs of the result that this launch replaces go.
func (e *engine) moveAside(f *flight) string {
	if f.smoke {
		return ""
	}
	rec := e.st.Jobs[f.addr]
	if rec == nil || len(rec.Attempts) == 0 {
		return ""
	}
	if last := rec.Last(); stem(last.Token) == f.token { // the same intent again
		return last.Replaces
	}
	if rec.Status != state.Completed && len(rec.Outputs) == 0 {
		return ""
	}
	return path.Join(".muster", "replaced", strings.ReplaceAll(rec.Last().Token, "/", "."))
}

// scaled is the shape of a launch after the failures before it, bounded by
// the pool.
func (e *engine) scaled(f *flight, s offer.Shape) offer.Shape {
	s.Smoke = f.smoke
	if f.smoke || f.n <= 1 || len(f.p.Retry.Scale) == 0 {
		return s
	}
	rec := e.st.Jobs[f.key]
	if rec == nil {
		return s
	}
	for i := range rec.Attempts {
		a := &rec.Attempts[i]
		if a.N >= f.n || a.Class == "" {
			continue
		}
		for _, class := range slices.Sorted(maps.Keys(f.p.Retry.Scale)) {
			if failure.Is(a.Class, class) {
				s = planner.Grow(s, f.p.Retry.Scale[class])
				break
			}
		}
	}
	return planner.Bounded(s, f.b.pools[f.pool])
}

// scaledText names what scaling changed, for the record.
func scaledText(was, is offer.Shape) map[string]string {
	var out map[string]string
	add := func(name, a, b string) {
		if a == b {
			return
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = b
	}
	add("cpus", strconv.Itoa(was.CPUs), strconv.Itoa(is.CPUs))
	add("gpus", strconv.Itoa(was.GPUs), strconv.Itoa(is.GPUs))
	add("memory", strconv.FormatInt(was.Memory, 10), strconv.FormatInt(is.Memory, 10))
	add("disk", strconv.FormatInt(was.Disk, 10), strconv.FormatInt(is.Disk, 10))
	add("walltime", was.Walltime.String(), is.Walltime.String())
	return out
}

func parseAddress(address string) (key string, err error) {
	j, err := addr.Parse(address)
	return j.Key, err
}
