package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// splices warns of cell values and paths that a shell would read otherwise
// than as one word: one warning for each place, with the first such cell.
func (ck *checker) splices(p *phaseBuild) {
	for _, e := range []hclsyntax.Expression{p.job.Expr("command"), p.job.Expr("setup")} {
		t, ok := e.(*hclsyntax.TemplateExpr)
		if wrap, is := e.(*hclsyntax.TemplateWrapExpr); is {
			t, ok = &hclsyntax.TemplateExpr{Parts: []hclsyntax.Expression{wrap.Wrapped}}, true
		}
		if !ok {
			continue
		}
		q := shell.Bare
		for _, part := range t.Parts {
			if lit, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				if text, err := value.Text(lit.Val); err == nil {
					q = q.After(text)
				}
				continue
			}
			ck.splice(p, part, q)
		}
	}
}

// plainResult are functions whose result no shell takes apart.
var plainResult = map[string]bool{"shellquote": true, "length": true, "md5": true, "sha1": true, "sha256": true, "sha512": true}

func (ck *checker) splice(p *phaseBuild, part hclsyntax.Expression, q shell.Quoting) {
	bad := q.Special()
	if call, ok := part.(*hclsyntax.FunctionCallExpr); ok && plainResult[call.Name] || bad == "" {
		return
	}
	t, ds := expr.Compile(part, p.scope)
	if ds.HasErrors() {
		return
	}
	for _, a := range t.Axes() {
		if ck.spliceAxis(p, part, t, a, bad) {
			return
		}
	}
	for _, s := range t.Symbols() {
		if ck.splicePath(p, part, s, bad) {
			return
		}
	}
}

// spliceAxis warns when a value of an axis has special bytes and shows in the
// text of the part.
func (ck *checker) spliceAxis(p *phaseBuild, part hclsyntax.Expression, t *expr.Template, a int, bad string) bool {
	axis := p.Grid.Axes[a]
	proj := p.Grid.Project([]int{a})
	for k := range proj.Len() {
		v := axis.Values[proj.Coord(k, 0)]
		cell := proj.First(k)
		if !strings.ContainsAny(v.Text, bad) || !strings.Contains(plain(t, cell), v.Text) {
			continue
		}
		ck.Perhaps.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A cell value is spliced unquoted", Subject: part.Range().Ptr(), Address: p.Address(cell),
			Detail: fmt.Sprintf("In %s the value %q of the axis %q goes into a command that a shell reads, which would take it apart. Write ${shellquote(…)} around it, or the command as a list.", p.Address(cell), wording.Clip(v.Text), axis.Name)})
		return true
	}
	return false
}

// splicePath warns when the path behind a symbol has special bytes.
func (ck *checker) splicePath(p *phaseBuild, part hclsyntax.Expression, s expr.Symbol, bad string) bool {
	of, t, kind := p, (*expr.Template)(nil), File
	switch s.Root {
	case "output":
		t = outputTemplate(p, s.Name)
		if o := p.output(s.Name); o != nil {
			kind = o.Kind
		}
	case "checkpoint":
		t = p.Phase.job.form[Run].checkpoint
	case "input":
		for _, in := range p.Inputs {
			if in.Name == s.Name {
				of = ck.byName[in.From.Name]
				t = outputTemplate(of, in.Output)
			}
		}
	case "path", "input_file":
	default:
		return false
	}
	warn := func(address, text, what string) bool {
		ck.Perhaps.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A path is spliced unquoted", Subject: part.Range().Ptr(), Address: address,
			Detail: fmt.Sprintf("In %s, %s (%q) goes into a command that a shell reads, which would take it apart. Write ${shellquote(%s)}, or the command as a list.", address, what, wording.Clip(text), s)})
		return true
	}
	if t != nil && of.ok && !of.failed {
		if cell, text, found := specialPath(of, t, kind, bad); found {
			return warn(of.Address(cell), text, "the path of "+s.String())
		}
	}
	if bad == shell.Bare.Special() || bad == shell.Double.Special() {
		if dir := ck.workdirOf(p); strings.ContainsAny(dir, bad) && p.Len() > 0 {
			return warn(p.Address(0), dir, "the workdir of "+s.String())
		}
	}
	return false
}

func outputTemplate(p *phaseBuild, name string) *expr.Template {
	for k, o := range p.Outputs {
		if o.Name == name && len(p.Phase.job.form[Run].outputs) > k {
			return p.Phase.job.form[Run].outputs[k]
		}
	}
	return nil
}

// specialPath looks at the first cell and at the first cell of every axis
// value with special bytes; what else a path holds is the same in all cells.
func specialPath(p *phaseBuild, t *expr.Template, kind OutputKind, bad string) (cell int, text string, found bool) {
	if p.Len() == 0 {
		return 0, "", false
	}
	if text = reachable(kind, plain(t, 0)); strings.ContainsAny(text, bad) {
		return 0, text, true
	}
	for _, a := range t.Axes() {
		proj := p.Grid.Project([]int{a})
		for k := range proj.Len() {
			if strings.ContainsAny(p.Grid.Axes[a].Values[proj.Coord(k, 0)].Text, bad) {
				if text = reachable(kind, plain(t, proj.First(k))); strings.ContainsAny(text, bad) {
					return proj.First(k), text, true
				}
			}
		}
	}
	return 0, "", false
}
