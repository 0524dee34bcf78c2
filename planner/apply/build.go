package apply

import (
	"path"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/planner/foreign"
	"github.com/muster-run/muster/planner/launches"
	hashes "github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// share prepares what a phase's jobs on a backend share, once.
func (e *engine) share(p *phase, b *fleet.Backend) *sheet.Spec {
	if p.baseOn != b {
		p.base, p.baseOn = sheet.NewSpec(e.Campaign, p.Phase, b.Env, e.Secrets), b
	}
	return &p.base
}

// build renders the job of a flight for its backend, and the record that its
// intent leaves.
func (e *engine) build(f *flight) (*providers.Job, state.Job, diag.List) {
	p, cell, v := f.p, int(f.cell), f.variant()
	s := e.share(p, f.B)
	if s.Err != nil {
		var l diag.List
		l.Errorf("A secret cannot be read", "%v", s.Err)
		return nil, state.Job{}, l
	}
	req := p.Requests(v)[p.RequestOf(cell, v)]
	shape := e.scaled(f, req.Shape)
	workdir := f.spot().Workdir
	r, diags := p.Render(cell, lang.Site{
		Variant: v, Workdir: workdir, SourceDir: source.In(workdir, p.source), Spool: path.Join(workdir, ".muster", "lists", f.Token),
		Input: func(name string) []string { return e.inputPaths(f, name) }, Backend: f.B.Name, Pool: f.Pool,
		GPUs: shape.GPUs, CPUs: shape.CPUs,
	})
	if diags.HasErrors() {
		return nil, state.Job{}, diags
	}
	job := &providers.Job{
		Token: f.Token, Address: f.Addr, Phase: p.Name, Name: r.Label, Attempt: f.N, Pool: f.Pool,
		Shell: r.Shell, Argv: r.Argv, Workdir: workdir, Dir: r.Dir, Setup: site.Setup(f.B.Lang, r.Setup), Env: sheet.JobEnv(s.Env, r.Env),
		Secrets: s.Secrets, Image: r.Image, Shape: shape, Options: sheet.Options(req.Options, f.B.Conf.Type),
		Metrics: s.Metrics, Breaker: s.Breaker, Cap: p.MaxParallel, Rules: s.Rules, Smoke: f.smoke,
		ResultHash: p.resultText(f.cell, f.smoke), After: e.after(f), MoveAside: e.moveAside(f),
	}
	umask := site.Umask()
	job.Retry, job.Umask = e.ridingRetry(f, s), &umask
	e.guard(f, job)
	if why := e.rawLacking(f); why != "" {
		diags.Errorf("An input is not there", "%s", why)
		return nil, state.Job{}, diags
	}
	sheet.FillFiles(job, p.Phase, r, func(name string) []string { return e.inputPaths(f, name) })
	for i := range job.Inputs {
		job.Inputs[i].Recorded = e.inputRecords(f, job.Inputs[i].Name)
	}
	if f.asked = &shape; f.B.Can.HostQueue && (len(e.Campaign.Budgets) > 0 || f.where != nil && ledger.TariffOf(f.where).Charges()) {
		sheet.InTime(job)
	}
	return job, e.record(f, req, r.Label), diags
}

// record is the identity under which a job is remembered.
func (e *engine) record(f *flight, req lang.Request, label string) state.Job {
	p, cell := f.p, int(f.cell)
	j := state.Job{
		Address: f.Addr, Phase: p.Name, Axes: p.Axes(cell), Smoke: f.smoke, Name: label, Definition: e.define(p),
		Scheme: planner.Scheme, Result: p.resultText(f.cell, f.smoke), Request: planner.Hash(req.Hash).String(),
		Source: p.plan.Source.Digest,
	}
	if len(p.Inputs) > 0 {
		j.Inputs = e.Plan.InputHashes(p.plan, cell)
		j.InputBytes = e.inputBytes(p, f.cell)
	}
	if f.smoke {
		return j
	}
	e.keepBytes(f, &j, hashes.Image)
	for _, in := range p.Raw {
		e.keepBytes(f, &j, in.Name)
		if digest, text := hashes.Listing(p.plan.RawFiles(in, cell)); in.List() && digest == j.InputBytes[in.Name] && e.st.Definitions[digest] == nil {
			e.emit(state.Defined{Digest: digest, Definition: text})
		}
	}
	return j
}

// keepBytes records the digest of a content that no phase makes: the one in the
// result hash of the job.
func (e *engine) keepBytes(f *flight, j *state.Job, name string) {
	digest := f.p.plan.RawBytes(name, int(f.cell))
	if rec := e.st.Jobs[f.Addr]; rec != nil && rec.Result == j.Result && (name == hashes.Image || digest == "") {
		digest = rec.InputBytes[name]
	}
	if digest == "" {
		return
	}
	if j.InputBytes == nil {
		j.InputBytes = map[string]string{}
	}
	j.InputBytes[name] = digest
}

// define is the digest of a phase's definition, which the state keeps by it.
func (e *engine) define(p *phase) string {
	if p.defined == "" {
		d := p.Definition()
		if _, ok := e.st.Definitions[d.Digest]; !ok {
			e.emit(state.Defined{Digest: d.Digest, Definition: d.JSON})
		}
		p.defined = d.Digest
	}
	return p.defined
}

// resultText is a cell's result hash, or its smoke's fingerprint, in hex.
func (p *phase) resultText(cell int32, smoke bool) string {
	if smoke {
		return p.Gate.Print(cell)
	}
	return wish.Result(p.plan, cell)
}

// moveAside says where the outputs of the result that this launch replaces go.
func (e *engine) moveAside(f *flight) string {
	if f.smoke {
		return ""
	}
	return sheet.AsideOf(e.st.Jobs[f.Addr], f.Token)
}

// guard tells the place where a job starts which files at its output paths are
// its own, and which a person agreed to replace.
func (e *engine) guard(f *flight, job *providers.Job) {
	if f.smoke {
		return // it writes below .muster
	}
	g := foreign.Guard(e.st.Jobs[f.Addr], e.st.Earlier[f.Addr], job.Workdir)
	g.Replace = f.p.plan.Detail(int(f.cell)).Foreign
	job.Guard = &g
	if job.MoveAside == "" && (len(g.Replace) > 0 || slices.ContainsFunc(g.Own, func(o offer.Output) bool { return o.Digest != "" })) {
		job.MoveAside = path.Join(".muster", "replaced", f.Token)
	}
}

// scaled is the shape of a launch after the failures before it.
func (e *engine) scaled(f *flight, s offer.Shape) offer.Shape {
	s.Smoke = f.smoke
	if f.smoke {
		return s
	}
	if f.where != nil {
		s = launches.Segment(s, f.where.Segments)
	}
	return e.grown(f, s, 1, f.N)
}

// grown is what launch n of a flight asked for, grown from that of an earlier one.
func (e *engine) grown(f *flight, s offer.Shape, from, n int) offer.Shape {
	rec := e.st.Jobs[f.Key]
	if f.p == nil || f.smoke || rec == nil {
		return s
	}
	return relaunch.Shape(s, f.p.Retry, rec.Attempts, from, n, f.pool())
}

// pool is where a flight goes, as it is for jobs like this one.
func (f *flight) pool() offer.Pool {
	pool := f.B.Pools[f.Pool]
	if f.where != nil {
		pool = f.where.Limits.On(pool)
	}
	return pool
}
