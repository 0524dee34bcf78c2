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
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/fields"
	"github.com/muster-run/muster/lang/request"
	"github.com/muster-run/muster/lang/value"
)

// A job is the compiled template of a phase's jobs.
type job struct {
	scope *expr.Scope    // of a run
	label *expr.Template // nil: PHASE-KEY
	form  [2]*form       // by Variant; one and the same without smoke params
}

// A form is a job as a run or as a smoke: the same templates over other
// params. Templates are nil where nothing is written.
type form struct {
	command, setup, image *expr.Template
	argv                  []*expr.Template // of a command written as a list
	env                   []named          // sorted
	outputs               []*expr.Template // paths, as Phase.Outputs
	checkpoint            *expr.Template
	asked                 request.Table
	result                fields.List
}

// A named template belongs to a variable, a param or an option.
type named struct {
	name string
	t    *expr.Template
}

// site lists the templates that are rendered where a job runs.
func (f *form) site() []*expr.Template {
	var out []*expr.Template
	for _, t := range append([]*expr.Template{f.command, f.setup, f.image}, f.argv...) {
		if t != nil {
			out = append(out, t)
		}
	}
	for _, e := range f.env {
		out = append(out, e.t)
	}
	return out
}

// templates compiles all templates of a phase.
func (l *loader) templates(p *phaseBuild) {
	p.scope = l.newScope(p, p.params)
	l.rawPaths(p)
	p.smoke = p.scope
	if p.Smoke != nil {
		p.smoke = l.smokeScope(p)
	}
	j := &job{scope: p.scope}
	p.Phase.job = j
	p.definition = sync.OnceValue(p.Phase.define)
	l.params(p, p.scope)
	if e := p.job.Expr("name"); e != nil {
		j.label = l.template(p, p.scope, e, "a label")
	}
	j.form[Run] = l.form(p, p.scope, Run)
	j.form[SmokeRun] = j.form[Run]
	if p.Smoke != nil {
		j.form[SmokeRun] = l.form(p, p.smoke, SmokeRun)
		l.expects(p)
	}
	l.preconditions(p)
}

// template compiles an expression that must not read what is known only where
// a job runs. It is nil when that failed, which was told.
func (l *loader) template(p *phaseBuild, s *expr.Scope, e hcl.Expression, what string) *expr.Template {
	t := l.siteTemplate(p, s, e)
	if t == nil {
		return nil
	}
	secret := map[string]bool{}
	for _, sym := range t.Sensitive() {
		secret[sym.String()] = true
		if what == "a label" || what == "a path" {
			l.Sure.Errorat(sym.Range, "A sensitive value in "+what, "%s is sensitive, and %s is shown and stored. Take it out of there.", sym, what)
			t = nil
		}
	}
	if t == nil {
		return nil
	}
	for _, sym := range t.Symbols() {
		if !secret[sym.String()] && sym.Root != "cell" {
			l.Perhaps.Errorat(sym.Range, "This is known only in the job", "%s is known where the job runs; %s must be known before.", sym, what)
			p.failed = true
			return nil
		}
	}
	return t
}

// siteTemplate compiles an expression of the job.
func (l *loader) siteTemplate(p *phaseBuild, s *expr.Scope, e hcl.Expression) *expr.Template {
	t, ds := expr.Compile(e, s)
	if !ds.HasErrors() && p.ok {
		ds.Append(t.Errors()...)
	}
	l.Perhaps.Append(ds...)
	if ds.HasErrors() {
		p.failed = true
		return nil
	}
	return t
}

// form compiles the job as a run or as a smoke.
func (l *loader) form(p *phaseBuild, s *expr.Scope, v Variant) *form {
	f := &form{}
	b := p.job
	if e := b.Expr("command"); e != nil {
		l.command(p, s, f, e)
	}
	if e := b.Expr("setup"); e != nil {
		f.setup = l.siteTemplate(p, s, e)
	}
	if e := b.Expr("image"); e != nil {
		f.image = l.siteTemplate(p, s, e)
	}
	for _, it := range l.Entries(b.Expr("env"), "env") {
		if it.Value != nil && l.EnvName(hclsyntax.Expression(&hclsyntax.LiteralValueExpr{SrcRange: it.At, Val: cty.True}), it.Name) {
			if t := l.siteTemplate(p, s, it.Value); t != nil {
				f.env = append(f.env, named{it.Name, t})
			}
		}
	}
	slices.SortFunc(f.env, func(a, b named) int { return strings.Compare(a.name, b.name) })
	for k, o := range p.Outputs {
		f.outputs = append(f.outputs, nil)
		if e := b.All("output")[k].Expr(string(o.Kind)); e != nil {
			f.outputs[k] = l.template(p, s, e, "a path")
		}
	}
	if e := p.b.One("checkpoint").Expr("path"); e != nil {
		f.checkpoint = l.template(p, s, e, "a path")
	}
	l.resultFields(p, s, f)
	l.requests(p, s, f, v)
	l.tryRender(p, f)
	return f
}

// command compiles a string, a list written out, or anything else that
// evaluates to one of them.
func (l *loader) command(p *phaseBuild, s *expr.Scope, f *form, e hcl.Expression) {
	list, ds, written := expr.List(e, s)
	if !written {
		f.command = l.siteTemplate(p, s, e)
		return
	}
	for _, t := range list {
		if !ds.HasErrors() && p.ok {
			ds.Append(t.Errors()...)
		}
	}
	l.Perhaps.Append(ds...)
	if f.argv = list; ds.HasErrors() {
		f.argv, p.failed = nil, true
	}
	if len(list) == 0 {
		l.Wrong(e, "command", "The list is empty: its first element is the program.")
	} else if v, ok := l.inFirstCell(p, list[0]); ok && !ds.HasErrors() {
		if text, err := value.Text(v); err == nil && text == "" {
			l.Wrong(e, "command", "The program is empty: it is the first element of the list.")
		}
	}
}

// tryRender renders the first cell with made-up paths, to find what only
// evaluation with symbols can.
func (l *loader) tryRender(p *phaseBuild, f *form) {
	if !p.ok || p.failed || p.Grid.Len() == 0 || f.command == nil && f.argv == nil {
		return
	}
	var ds diag.List
	r := renderer{p: p.Phase, f: f, cell: 0, site: Site{Workdir: "/workdir", SourceDir: "/source", Spool: "/spool", Backend: backends.Local,
		Input: func(string) []string { return []string{"/input"} }}, ds: &ds}
	r.command(&Rendered{})
	r.text(f.setup, "setup")
	r.text(f.image, "image")
	for _, e := range f.env {
		r.text(e.t, "env."+e.name)
	}
	l.Perhaps.Append(ds...)
}
