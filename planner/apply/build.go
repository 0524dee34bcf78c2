package apply

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/ceiling"
	hashes "github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A builder makes the job that is submitted, and the record that its intent leaves.
type builder struct {
	*jobs
	chains *chains
	inputs *inputs
}

// share prepares the common part of a phase's jobs on a backend, once.
func (bd *builder) share(p *phase, b *backends.Backend) *jobspec.Spec {
	if p.baseOn != b {
		p.base, p.baseOn = jobspec.NewSpec(bd.Campaign, p.Phase, b.Env, bd.Secrets), b
	}
	return &p.base
}

// build renders the job of an attempt for its backend, and the record that its
// intent leaves.
func (bd *builder) build(f *attempt) (*providers.Job, state.Job, diag.List) {
	p, cell, v := f.p, int(f.cell), f.variant()
	s := bd.share(p, f.B)
	if s.Err != nil {
		var l diag.List
		l.Errorf("A secret cannot be read", "%v", s.Err)
		return nil, state.Job{}, l
	}
	req := p.Requests(v)[p.RequestOf(cell, v)]
	shape := bd.scaled(f, req.Shape)
	workdir := f.filesystem().Workdir
	job, r, diags := s.Job(p.Phase, jobspec.Launch{Cell: cell, Address: f.Addr, Token: f.Token, Attempt: f.N, Shape: shape,
		Backend: f.B.Lang, Can: f.B.Can, Segments: f.segments(), Most: f.max,
		Site: lang.Target{
			Variant: v, Workdir: workdir, SourceDir: source.In(workdir, p.source), Spool: path.Join(workdir, ".muster", "lists", f.Token),
			Input: func(name string) []string { return bd.inputs.inputPaths(f, name) }, Backend: f.B.Name, Pool: f.Pool,
			GPUs: shape.GPUs, CPUs: shape.CPUs,
		}})
	if diags.HasErrors() {
		return nil, state.Job{}, diags
	}
	job.ResultHash, job.After, job.MoveAside = p.resultText(f.cell, f.smoke), bd.chains.after(f), bd.moveAside(f)
	tellMissing(p, f.cell, job)
	bd.guard(f, job)
	if !f.smoke && job.Checkpoint.Path != "" && !p.Checkpoint.Shared {
		job.Checkpoint.Fresh = planner.FromStart(bd.st.Jobs[f.Addr], bd.st.Earlier[f.Addr], job.ResultHash, len(p.plan.Detail(cell).Lacks) > 0, f.besides)
	}
	if why := bd.inputs.rawLacking(f); why != "" {
		diags.Errorf("An input is not there", "%s", why)
		return nil, state.Job{}, diags
	}
	for i := range job.Inputs {
		job.Inputs[i].Recorded = bd.inputs.inputRecords(f, job.Inputs[i].Name)
	}
	if f.asked = &shape; f.B.Can.HostQueue && (len(bd.Campaign.Budgets) > 0 || f.where != nil && ledger.TariffOf(f.where).Charges()) {
		jobspec.InTime(job)
	}
	record := bd.record(f, req, r.Label)
	job.ImageBytes = bd.imageBytes(f, &record)
	return job, record, diags
}

// besides are those of some attempts that had their files where this one has them.
func (f *attempt) besides(all []state.Attempt) (here []state.Attempt) {
	for i := range all {
		a := &all[i]
		if a.Backend == f.B.Name && f.B.Filesystem(a.Pool).Sees(f.filesystem()) || a.Backend != f.B.Name && a.Workdir == f.filesystem().Workdir {
			here = append(here, *a)
		}
	}
	return here
}

// imageBytes is the image's part in the hash of an attempt's job, where the image
// is a file.
func (bd *builder) imageBytes(f *attempt, record *state.Job) providers.Recorded {
	digest := record.InputBytes.Get(hashes.Image)
	if f.smoke {
		digest = f.p.plan.SmokeImage(int(f.cell))
	}
	return providers.Recorded{Digest: digest, Stamp: f.p.plan.ImageStamps[hashes.ImageAt(f.B.Name, digest)]}
}

// record is the identity under which a job is remembered.
func (bd *builder) record(f *attempt, req lang.Request, label string) state.Job {
	p, cell := f.p, int(f.cell)
	j := state.Job{
		Address: f.Addr, Phase: p.Name, Axes: state.TextsOf(p.Axes(cell)), Smoke: f.smoke, Name: label, Definition: bd.define(p),
		Scheme: planner.Scheme, Result: p.resultText(f.cell, f.smoke), Request: planner.Hash(req.Hash).String(),
		Source: p.plan.Source.Digest,
	}
	if len(p.Inputs) > 0 {
		j.Inputs = state.TextsOf(bd.inputHashes(p, cell))
		bytes := bd.inputs.inputBytes(p, f.cell)
		for name, keys := range p.missing(f.cell) {
			bytes[lang.MissingOf(name)] = strings.Join(keys, "\n")
		}
		j.InputBytes = state.TextsOf(bytes)
	}
	if f.smoke {
		return j
	}
	bd.keepContents(p, cell, &j)
	return j
}

// keepContents records the digests of the files that a job reads and no phase makes:
// its image, and raw inputs.
func (bd *builder) keepContents(p *phase, cell int, j *state.Job) {
	bd.keepBytes(p, cell, j, hashes.Image)
	for _, in := range p.Raw {
		bd.keepBytes(p, cell, j, in.Name)
		if digest, text := hashes.Listing(p.plan.RawFiles(in, cell)); in.List() && digest == j.InputBytes.Get(in.Name) && bd.st.Definitions[digest] == nil {
			bd.Emit(state.Defined{Digest: digest, Definition: text})
		}
	}
}

// keepBytes records the digest of a content that no phase makes: the one in the
// result hash of the job.
func (bd *builder) keepBytes(p *phase, cell int, j *state.Job, name string) {
	digest := p.plan.RawBytes(name, cell)
	if rec := bd.st.Jobs[j.Address]; rec != nil && rec.Result == j.Result && (name == hashes.Image || digest == "") {
		digest = rec.InputBytes.Get(name)
	}
	if digest == "" {
		return
	}
	j.InputBytes = j.InputBytes.With(map[string]string{name: digest})
}

// define is the digest of a phase's definition, which the state keeps by it.
func (bd *builder) define(p *phase) string {
	if p.defined == "" {
		d := p.Definition()
		if _, ok := bd.st.Definitions[d.Digest]; !ok {
			bd.Emit(state.Defined{Digest: d.Digest, Definition: d.JSON})
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
	return p.plan.ResultText(cell)
}

// moveAside says where the outputs of the result that this launch replaces go.
func (bd *builder) moveAside(f *attempt) string {
	if f.smoke {
		return ""
	}
	return jobspec.AsideOf(bd.st.Jobs[f.Addr], f.Token)
}

// guard tells the place where a job starts which files at its output paths are
// its own, and which a person agreed to replace.
func (bd *builder) guard(f *attempt, job *providers.Job) {
	if f.smoke {
		return // it writes below .muster
	}
	g := planner.OwnFiles(bd.st.Jobs[f.Addr], bd.st.Earlier[f.Addr], job.Workdir)
	g.Replace = f.p.plan.Detail(int(f.cell)).Foreign
	job.Guard = &g
	if job.MoveAside == "" && (len(g.Replace) > 0 || slices.ContainsFunc(g.Own, func(o offer.Output) bool { return o.Digest != "" })) {
		job.MoveAside = path.Join(".muster", "replaced", f.Token)
	}
}

// scaled is the shape of a launch after the failures before it.
func (bd *builder) scaled(f *attempt, s offer.Shape) offer.Shape {
	s.Smoke = f.smoke
	if f.smoke {
		return s
	}
	if f.where != nil {
		s = ceiling.Segment(s, f.where.Segments)
	}
	return bd.grown(f, s, 1, f.N)
}

// pool is where an attempt goes, as it is for jobs like this one.
func (f *attempt) pool() offer.Pool {
	pool := f.B.Pools[f.Pool]
	if f.where != nil {
		pool = f.where.Limits.On(pool)
	}
	return pool
}

// identity is the record of a job without a launch.
func (bd *builder) identity(p *phase, cell int32) state.Job {
	i := int(cell)
	j := state.Job{Address: p.Address(i), Phase: p.Name, Axes: state.TextsOf(p.Axes(i)), Name: p.Label(i), Definition: bd.define(p), Scheme: planner.Scheme,
		Result: p.resultText(cell, false), Request: planner.Hash(p.Requests(0)[p.RequestOf(i, 0)].Hash).String(), Source: p.plan.Source.Digest}
	if len(p.Inputs) > 0 {
		j.Inputs = state.TextsOf(bd.Plan.InputHashes(p.plan, i))
	}
	bd.keepContents(p, i, &j)
	return j
}
