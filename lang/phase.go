package lang

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// A phaseBuild is a phase while it is loaded.
type phaseBuild struct {
	*Phase
	b, job   *syntax.Block
	expanded bool             // the grid has no errors
	full     bool             // every value of the grid is known
	ok       bool             // fit for checks that look at cells
	failed   bool             // a template of the job did not compile
	matched  []*expr.Template // of inputs' match
	scope    *expr.Scope
	params   []decode.Entry
	after    []afterRef
}

// An afterRef is a phase that must come first, and where that is written.
type afterRef struct {
	name string
	at   hcl.Range
}

// Phases are those of a campaign while it is loaded.
type phases struct {
	*decode.Reader
	byName map[string]*phaseBuild
	order  []*phaseBuild // by file and line, then in order of dependency
}

// A phaseReader reads phases, but for their templates.
type phaseReader struct {
	*phases
	dir      string  // the campaign's
	source   *Source // the campaign's
	grids    *gridSet
	backends *backends.Set
	rerun    *rerunReader
}

// read reads all phases, producers first: the parts that depend on no other phase,
// then the edges between them.
func (pr *phaseReader) read(blocks []*syntax.Block) {
	for _, b := range blocks {
		p := &phaseBuild{Phase: &Phase{Name: b.Name(), Range: b.Range}, b: b, job: b.One("job")}
		pr.byName[p.Name] = p
		pr.order = append(pr.order, p)
	}
	for _, p := range pr.order {
		pr.phaseHead(p)
	}
	for _, p := range pr.order {
		pr.inputs(p)
		pr.dependsOn(p)
	}
	pr.sortPhases()
	pr.trials()
}

// phaseHead reads the parts that depend on no other phase.
func (pr *phaseReader) phaseHead(p *phaseBuild) {
	p.Grid, p.expanded, p.full = pr.grids.OfPhase(p.b)
	p.ok = p.expanded && p.full
	p.MaxParallel = pr.Integer(p.b, "max_parallel", 1, 0)
	p.Source = readSource(pr.Reader, pr.dir, p.b.One("source"), pr.source)
	if place := p.b.One("place"); place != nil {
		p.Candidates = pr.backends.Candidates(place)
		p.Overflow = pr.backends.Places(place, "overflow")
		p.Prefer = pr.OneOf(place, "prefer", "order", "cheapest", "soonest")
	}
	p.params = paramEntries(pr.Reader, p.b)
	if p.job == nil {
		if !pr.Broken && !p.b.Meant["job"] {
			pr.Sure.Errorat(p.b.Range, "A phase needs a job", "Add job { command = \"…\" } to the phase %q.", p.Name)
		}
		p.job = &syntax.Block{Spec: schema.Job, Range: p.b.Range}
		p.ok = false
	}
	for _, b := range p.job.All("output") {
		p.Outputs = append(p.Outputs, readOutput(pr.Reader, b))
	}
	for _, b := range p.job.All("metric") {
		p.Metrics = append(p.Metrics, readMetric(pr.Reader, p.Outputs, b))
	}
	for _, b := range p.job.All("secret") {
		p.Secrets = append(p.Secrets, pr.secret(b))
	}
	pr.distinctVariables(p)
	pr.secretsBesideEnv(p)
	p.Retry = pr.rerun.Retry(p.b.One("retry"))
	pr.leaves(p.b.One("retry"), &p.Retry)
	p.Breaker = pr.rerun.Breaker(p.b.One("breaker"))
	p.Checkpoint = pr.rerun.Checkpoint(p.b.One("checkpoint"))
	p.Retry.Resumes = p.Checkpoint != nil
	p.Watch = pr.rerun.Watch(p.job.One("watch"))
	p.Retry = p.Watch.Retry(p.Retry)
	p.Scratch = pr.scratch(p)
	p.Lifecycle = pr.rerun.Lifecycle(p.b.One("lifecycle"))
	if b := p.b.One("pilot"); b != nil {
		p.Pilot = pickCells(pr.Reader, p, b)
	}
	if b := p.b.One("smoke"); b != nil {
		p.Smoke = pr.smokeHead(p, b)
	}
}

// paramEntries reads params = { … } of a phase or a smoke.
func paramEntries(r *decode.Reader, b *syntax.Block) []decode.Entry {
	return slices.DeleteFunc(r.Entries(b.Expr("params"), "params"), func(e decode.Entry) bool { return e.Value == nil })
}

// dependsOn reads depends_on = [phase.X].
func (pr *phaseReader) dependsOn(p *phaseBuild) {
	for _, ref := range pr.References(p.b, "depends_on") {
		parts := ref.Parts
		if len(parts) == 1 && parts[0] != "phase" {
			parts = []string{"phase", parts[0]}
		}
		if len(parts) != 2 || parts[0] != "phase" {
			pr.Sure.Errorat(ref.At, "Not a phase", "depends_on names whole phases, [phase.NAME]; %s was found.", wording.Clip(pr.Source.Text(ref.At)))
			continue
		}
		if pr.byName[parts[1]] == nil {
			pr.unknownPhase(parts[1], ref.At)
			continue
		}
		if parts[1] == p.Name {
			pr.Sure.Errorat(ref.At, "A phase waits for itself", "phase.%s is in its own depends_on, so it could never start. Remove it.", p.Name)
			continue
		}
		if !slices.Contains(p.DependsOn, parts[1]) {
			p.DependsOn = append(p.DependsOn, parts[1])
			p.after = append(p.after, afterRef{parts[1], ref.At})
		}
	}
	slices.Sort(p.DependsOn)
}

// known reports whether there is a phase of a name, and reports one that is not.
func (ps *phases) known(name string, at hcl.Range) bool {
	if ps.byName[name] == nil {
		ps.unknownPhase(name, at)
		return false
	}
	return true
}

func (ps *phases) unknownPhase(name string, at hcl.Range) {
	ps.Perhaps.Errorat(at, "Unknown phase", "There is no phase named %q%s", wording.Clip(name), wording.Known(name, slices.Sorted(maps.Keys(ps.byName)), "the phases are"))
}
