package lang

import (
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/providers/offer"
)

// A job is the compiled template of a phase's jobs.
type job struct {
	scope *expr.Scope    // of a run
	label *expr.Template // nil: PHASE-KEY
	order *expr.Template // nil: all alike
	form  [3]*form       // by Variant; one and the same without smoke params
}

// A form is a job as one variant: the same templates over other
// params. Templates are nil where nothing is written.
type form struct {
	command    *expr.Template
	argv       []*expr.Template // of a command written as a list
	rendered   []*expr.Template // as schema.Rendered
	env        []named          // sorted
	outputs    []*expr.Template // paths, as Phase.Outputs
	checkpoint *expr.Template
	discard    []*expr.Template
	asked      requestTable
	result     hashedFields
}

// of is the template of one of schema.Rendered.
func (f *form) of(name string) *expr.Template {
	return f.rendered[slices.IndexFunc(schema.Rendered, func(r schema.Field[schema.Program]) bool { return r.Name == name })]
}

// A named template belongs to a variable, a param or an option.
type named struct {
	name string
	t    *expr.Template
}

// site lists the templates that are rendered where a job runs.
func (f *form) site() []*expr.Template {
	var out []*expr.Template
	for _, t := range slices.Concat([]*expr.Template{f.command}, f.rendered, f.argv) {
		if t != nil {
			out = append(out, t)
		}
	}
	for _, e := range f.env {
		out = append(out, e.t)
	}
	return out
}

// A compiler compiles the expressions of jobs.
type compiler struct {
	*decode.Reader
	backends *backends.Set
	schemas  map[string]offer.Schema
}

// compile compiles the templates of all phases, and joins inputs to producers.
func (ps *phases) compile(cp *compiler) (out []*Phase) {
	for _, p := range ps.order {
		cp.templates(p)
		out = append(out, p.Phase)
	}
	jn := joiner{ps, cp}
	for _, p := range ps.order {
		jn.join(p)
	}
	return out
}

// templates compiles all templates of a phase.
func (cp *compiler) templates(p *phaseBuild) {
	p.scope = cp.newScope(p, p.params)
	cp.rawPaths(p)
	smoke, canary := p.scope, p.scope
	if p.Smoke != nil {
		b := p.b.One("smoke")
		own := paramEntries(cp.Reader, b)
		smoke = cp.smokeScope(p, own)
		if p.Smoke.Canary != nil {
			canary = cp.smokeScope(p, append(own, paramEntries(cp.Reader, b.One("canary"))...))
		}
	}
	j := &job{scope: p.scope}
	p.Phase.job = j
	p.definition = sync.OnceValue(p.Phase.define)
	cp.params(p, p.scope)
	if e := p.job.Expr("name"); e != nil {
		j.label = cp.template(p, p.scope, e, "a label")
	}
	if e := p.b.Expr("order"); e != nil {
		if j.order = cp.template(p, p.scope, e, "the order"); j.order != nil && p.ok {
			cp.isOrder(p, j.order)
		}
	}
	j.form[Run] = cp.form(p, p.scope, Run)
	j.form[SmokeRun], j.form[CanaryRun] = j.form[Run], j.form[Run]
	if s := p.Smoke; s != nil {
		b := p.b.One("smoke")
		j.form[SmokeRun] = cp.form(p, smoke, SmokeRun)
		s.Expect = cp.expects(p, smoke, b)
		if c := s.Canary; c != nil {
			j.form[CanaryRun] = cp.form(p, canary, CanaryRun)
			c.Expect = cp.expects(p, canary, b, b.One("canary"))
		}
	}
	cp.preconditions(p)
}

// template compiles an expression that must not read values known only where a job runs. It is
// nil after an error, which was reported.
func (cp *compiler) template(p *phaseBuild, s *expr.Scope, e hcl.Expression, what string) *expr.Template {
	t := cp.siteTemplate(p, s, e)
	if t == nil {
		return nil
	}
	secret := map[string]bool{}
	for _, sym := range t.Sensitive() {
		secret[sym.String()] = true
		if what == "a label" || what == "a path" {
			cp.Sure.Errorat(sym.Range, "A sensitive value in "+what, "%s is sensitive, and %s is shown and stored. Take it out of there.", sym, what)
			t = nil
		}
	}
	if t == nil {
		return nil
	}
	for _, sym := range t.Symbols() {
		if !secret[sym.String()] && sym.Root != "cell" {
			cp.Perhaps.Errorat(sym.Range, "This is known only in the job", "%s is known where the job runs; %s must be known before.", sym, what)
			p.failed = true
			return nil
		}
	}
	return t
}

// siteTemplate compiles an expression of the job.
func (cp *compiler) siteTemplate(p *phaseBuild, s *expr.Scope, e hcl.Expression) *expr.Template {
	t, ds := expr.Compile(e, s)
	if !ds.HasErrors() && p.ok {
		ds.Append(t.Errors()...)
	}
	cp.Perhaps.Append(ds...)
	if ds.HasErrors() {
		p.failed = true
		return nil
	}
	return t
}

// form compiles the job as a variant.
func (cp *compiler) form(p *phaseBuild, s *expr.Scope, v Variant) *form {
	f := &form{}
	b := p.job
	if e := b.Expr("command"); e != nil {
		cp.command(p, s, f, e)
	}
	f.rendered = make([]*expr.Template, len(schema.Rendered))
	for k := range schema.Rendered {
		if e := b.Expr(schema.Rendered[k].Name); e != nil {
			f.rendered[k] = cp.siteTemplate(p, s, e)
		}
	}
	for _, it := range cp.Entries(b.Expr("env"), "env") {
		if it.Value != nil && cp.EnvName(hclsyntax.Expression(&hclsyntax.LiteralValueExpr{SrcRange: it.At, Val: cty.True}), it.Name) {
			if t := cp.siteTemplate(p, s, it.Value); t != nil {
				f.env = append(f.env, named{it.Name, t})
			}
		}
	}
	slices.SortFunc(f.env, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for k, o := range p.Outputs {
		f.outputs = append(f.outputs, nil)
		if e := b.All("output")[k].Expr(string(o.Kind)); e != nil {
			f.outputs[k] = cp.template(p, s, e, "a path")
		}
	}
	if c := p.Checkpoint; c != nil {
		if e := p.b.One("checkpoint").Expr(string(c.Kind)); e != nil {
			f.checkpoint = cp.template(p, s, e, "a path")
		}
	}
	if v == Run {
		cp.copies(p, f)
	}
	cp.discard(p, s, f)
	resultFields(p, s, f)
	cp.requests(p, s, f, v)
	cp.tryRender(p, f, v)
	return f
}

// discard compiles the patterns of files that a job removes.
func (cp *compiler) discard(p *phaseBuild, s *expr.Scope, f *form) {
	e := p.job.Expr("discard")
	if e == nil {
		return
	}
	list, written := e.(*hclsyntax.TupleConsExpr)
	if !written {
		cp.Wrong(e, "discard", "Write a list of paths or patterns: [\"tmp/a\", \"runs/*.tmp\"].")
		return
	}
	for _, x := range list.Exprs {
		if t := cp.template(p, s, x, "a path"); t != nil {
			f.discard = append(f.discard, t)
		}
	}
}

// command compiles a string, a list written out, or anything else that
// evaluates to one of them.
func (cp *compiler) command(p *phaseBuild, s *expr.Scope, f *form, e hcl.Expression) {
	list, ds, written := expr.List(e, s)
	if !written {
		f.command = cp.siteTemplate(p, s, e)
		return
	}
	for _, t := range list {
		if !ds.HasErrors() && p.ok {
			ds.Append(t.Errors()...)
		}
	}
	cp.Perhaps.Append(ds...)
	if f.argv = list; ds.HasErrors() {
		f.argv, p.failed = nil, true
	}
	if len(list) == 0 {
		cp.Wrong(e, "command", "The list is empty: its first element is the program.")
	} else if v, ok := cp.inFirstCell(p, list[0]); ok && !ds.HasErrors() {
		if text, err := value.Text(v); err == nil && text == "" {
			cp.Wrong(e, "command", "The program is empty: it is the first element of the list.")
		}
	}
}

// tryRender renders the first cell with made-up paths, to find errors that
// only evaluation with symbols shows.
func (cp *compiler) tryRender(p *phaseBuild, f *form, v Variant) {
	if !p.ok || p.failed || p.Grid.Len() == 0 || f.command == nil && f.argv == nil {
		return
	}
	var ds diag.List
	r := renderer{p: p.Phase, f: f, cell: 0, site: Target{Variant: v, Workdir: "/workdir", SourceDir: "/source", Spool: "/spool", Backend: backends.Local,
		Input: func(string) []string { return []string{"/input"} }}, ds: &ds}
	r.command(&Rendered{})
	r.program()
	r.drillable()
	for _, e := range f.env {
		r.text(e.t, "env."+e.name)
	}
	cp.Perhaps.Append(ds...)
}
