package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
)

// A phaseBuild is a phase while it is loaded.
type phaseBuild struct {
	*Phase
	b, job   *block
	expanded bool             // the grid has no errors
	full     bool             // every value of the grid is known
	ok       bool             // fit for checks that look at cells
	failed   bool             // a template of the job did not compile
	matched  []*expr.Template // of inputs' match
	scope    *expr.Scope
	smoke    *expr.Scope // with the smoke's params; scope itself without any
	params   []entry
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
	for _, b := range l.top.all("phase") {
		p := &phaseBuild{Phase: &Phase{Name: b.name(), Range: b.rng}, b: b, job: b.one("job")}
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
	p.Grid, p.expanded, p.full = l.phaseGrid(p.b)
	p.ok = p.expanded && p.full
	p.MaxParallel = l.integer(p.b, "max_parallel", 1, 0)
	p.Source = l.source(p.b.one("source"), l.c.Source)
	if place := p.b.one("place"); place != nil {
		p.Candidates = l.candidates(place)
		p.Prefer = l.oneOf(place, "prefer", "order", "cheapest", "soonest")
	}
	p.params = l.paramEntries(p.b)
	if p.job == nil {
		if !l.broken && !p.b.meant["job"] {
			l.sure.Errorat(p.b.rng, "A phase needs a job", "Add job { command = \"…\" } to the phase %q.", p.Name)
		}
		p.job = &block{spec: jobSpec, rng: p.b.rng}
		p.ok = false
	}
	for _, b := range p.job.all("output") {
		p.Outputs = append(p.Outputs, l.output(b))
	}
	for _, b := range p.job.all("metric") {
		p.Metrics = append(p.Metrics, l.metric(p, b))
	}
	for _, b := range p.job.all("secret") {
		p.Secrets = append(p.Secrets, l.secret(b))
	}
	l.distinctVariables(p)
	p.Retry = l.retry(p.b.one("retry"))
	p.Breaker = l.breaker(p.b.one("breaker"))
	p.Checkpoint = l.checkpoint(p.b.one("checkpoint"))
	p.Lifecycle = l.lifecycle(p.b.one("lifecycle"))
	if b := p.b.one("pilot"); b != nil {
		p.Pilot = l.pick(p, b)
	}
	if b := p.b.one("smoke"); b != nil {
		p.Smoke = l.smokeHead(p, b)
	}
}

// candidates reads a place block's list; an empty one is told.
func (l *loader) candidates(place *block) []string {
	e := place.expr("candidates")
	out := l.places(place, "candidates")
	if v, ok := l.peek(e, l.backendValues()); ok && isList(v) && v.LengthInt() == 0 {
		l.wrong(e, "candidates", "The list is empty, so the jobs could run nowhere. Name a backend, or leave candidates out.")
	}
	return out
}

// paramEntries reads params = { … } of a phase or a smoke.
func (l *loader) paramEntries(b *block) []entry {
	return slices.DeleteFunc(l.entries(b.expr("params"), "params"), func(e entry) bool { return e.value == nil })
}

// dependsOn reads depends_on = [phase.X].
func (l *loader) dependsOn(p *phaseBuild) {
	for _, ref := range l.references(p.b, "depends_on") {
		parts := ref.parts
		if len(parts) == 1 {
			parts = []string{"phase", parts[0]}
		}
		if len(parts) != 2 || parts[0] != "phase" {
			l.sure.Errorat(ref.at, "Not a phase", "depends_on names phases: [phase.NAME].")
			continue
		}
		if l.phases[parts[1]] == nil {
			l.unknownPhase(parts[1], ref.at)
			continue
		}
		if !contains(p.DependsOn, parts[1]) {
			p.DependsOn = append(p.DependsOn, parts[1])
			p.after = append(p.after, afterRef{parts[1], ref.at})
		}
	}
	slices.Sort(p.DependsOn)
}

func (l *loader) unknownPhase(name string, at hcl.Range) {
	l.ds.Errorat(at, "Unknown phase", "There is no phase named %q%s", clip(name), didYouMean(name, sortedKeys(l.phases)))
}
