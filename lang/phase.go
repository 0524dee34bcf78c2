package lang

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/cells"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/output"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/source"
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
	smoke    *expr.Scope // with the smoke's params; scope itself without any
	params   []decode.Entry
	after    []afterRef
}

// An afterRef is a phase that must come first, and where that is written.
type afterRef struct {
	name string
	at   hcl.Range
}

// phaseBlocks reads all phases: first what stands for itself, then the edges
// between them, then the templates.
func (l *loader) phaseBlocks() {
	for _, b := range l.top.All("phase") {
		p := &phaseBuild{Phase: &Phase{Name: b.Name(), Range: b.Range}, b: b, job: b.One("job")}
		l.phases[p.Name] = p
		l.order = append(l.order, p)
	}
	for _, p := range l.order {
		l.phaseHead(p)
	}
	for _, p := range l.order {
		l.inputs(p)
		l.dependsOn(p)
	}
	l.sortPhases()
	for _, p := range l.order {
		l.templates(p)
		l.c.Phases = append(l.c.Phases, p.Phase)
	}
	for _, p := range l.order {
		l.join(p)
	}
}

// phaseHead reads what depends on no other phase.
func (l *loader) phaseHead(p *phaseBuild) {
	p.Grid, p.expanded, p.full = l.grids.OfPhase(p.b)
	p.ok = p.expanded && p.full
	p.MaxParallel = l.Integer(p.b, "max_parallel", 1, 0)
	p.Source = source.Read(l.Reader, l.c.Dir, p.b.One("source"), l.c.Source)
	if place := p.b.One("place"); place != nil {
		p.Candidates = l.backends.Candidates(place)
		p.Overflow = l.backends.Places(place, "overflow")
		p.Prefer = l.OneOf(place, "prefer", "order", "cheapest", "soonest")
	}
	p.params = l.paramEntries(p.b)
	if p.job == nil {
		if !l.Broken && !p.b.Meant["job"] {
			l.Sure.Errorat(p.b.Range, "A phase needs a job", "Add job { command = \"…\" } to the phase %q.", p.Name)
		}
		p.job = &syntax.Block{Spec: schema.Job, Range: p.b.Range}
		p.ok = false
	}
	for _, b := range p.job.All("output") {
		p.Outputs = append(p.Outputs, output.Read(l.Reader, b))
	}
	for _, b := range p.job.All("metric") {
		p.Metrics = append(p.Metrics, output.ReadMetric(l.Reader, p.Outputs, b))
	}
	for _, b := range p.job.All("secret") {
		p.Secrets = append(p.Secrets, l.secret(b))
	}
	l.distinctVariables(p)
	l.secretsBesideEnv(p)
	p.Retry = l.rerun.Retry(p.b.One("retry"))
	p.Breaker = l.rerun.Breaker(p.b.One("breaker"))
	p.Checkpoint = l.rerun.Checkpoint(p.b.One("checkpoint"))
	p.Retry.Resumes = p.Checkpoint != nil
	p.Watch = l.rerun.Watch(p.job.One("watch"))
	p.Retry = p.Watch.Retry(p.Retry)
	p.Lifecycle = l.rerun.Lifecycle(p.b.One("lifecycle"))
	if b := p.b.One("pilot"); b != nil {
		p.Pilot = cells.Pick(l.Reader, p.cells(), b)
	}
	if b := p.b.One("smoke"); b != nil {
		p.Smoke = l.smokeHead(p, b)
	}
}

func (p *phaseBuild) cells() cells.Of { return cells.Of{Phase: p.Name, Grid: p.Grid, Full: p.full} }

// paramEntries reads params = { … } of a phase or a smoke.
func (l *loader) paramEntries(b *syntax.Block) []decode.Entry {
	return slices.DeleteFunc(l.Entries(b.Expr("params"), "params"), func(e decode.Entry) bool { return e.Value == nil })
}

// dependsOn reads depends_on = [phase.X].
func (l *loader) dependsOn(p *phaseBuild) {
	for _, ref := range l.References(p.b, "depends_on") {
		parts := ref.Parts
		if len(parts) == 1 && parts[0] != "phase" {
			parts = []string{"phase", parts[0]}
		}
		if len(parts) != 2 || parts[0] != "phase" {
			l.Sure.Errorat(ref.At, "Not a phase", "depends_on names whole phases, [phase.NAME]; %s was found.", wording.Clip(l.Source.Text(ref.At)))
			continue
		}
		if l.phases[parts[1]] == nil {
			l.unknownPhase(parts[1], ref.At)
			continue
		}
		if parts[1] == p.Name {
			l.Sure.Errorat(ref.At, "A phase waits for itself", "phase.%s stands in its own depends_on, so it could never start. Take it out.", p.Name)
			continue
		}
		if !slices.Contains(p.DependsOn, parts[1]) {
			p.DependsOn = append(p.DependsOn, parts[1])
			p.after = append(p.after, afterRef{parts[1], ref.At})
		}
	}
	slices.Sort(p.DependsOn)
}

func (l *loader) unknownPhase(name string, at hcl.Range) {
	l.Perhaps.Errorat(at, "Unknown phase", "There is no phase named %q%s", wording.Clip(name), wording.Known(name, slices.Sorted(maps.Keys(l.phases)), "the phases are"))
}
