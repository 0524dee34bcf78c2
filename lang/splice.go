package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
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
		var at shell.Position
		for _, part := range t.Parts {
			if lit, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				if text, err := value.Text(lit.Val); err == nil {
					at = at.After(text)
				}
				continue
			}
			ck.splice(p, part, at.Quoting)
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
		if ck.splicePath(p, part, s, q) {
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

// splicePath reports a symbol whose path has special bytes. Where the shell
// would split the path it is an error: the job would write another file.
func (ck *checker) splicePath(p *phaseBuild, part hclsyntax.Expression, s expr.Symbol, q shell.Quoting) bool {
	if !slices.Contains([]string{"output", "checkpoint", "input", "input_file", "path"}, s.Root) {
		return false
	}
	severity := diag.Error
	address, what, text := ck.pathWith(p, s, q.Splitting())
	if text == "" || !wholePath(part) {
		severity = diag.Warning
		if address, what, text = ck.pathWith(p, s, q.Special()); text == "" {
			return false
		}
	}
	ck.Perhaps.Append(diag.Diagnostic{Severity: severity, Summary: "A path is spliced unquoted", Subject: part.Range().Ptr(), Address: address,
		Detail: fmt.Sprintf("In %s, %s (%q) goes into a command that a shell reads, which would take it apart. Write ${shellquote(%s)}, or the command as a list.", address, what, wording.Clip(text), s)})
	return true
}

// wholePath is whether the text of an expression has the paths in it whole:
// the result of a function such as basename is not known here.
func wholePath(part hclsyntax.Expression) bool {
	whole := true
	_ = hclsyntax.VisitAll(part, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name != "join" {
			whole = false
		}
		return nil
	})
	return whole
}

// pathWith is the first path behind a symbol that has one of the bytes.
func (ck *checker) pathWith(p *phaseBuild, s expr.Symbol, bytes string) (address, what, text string) {
	of, t, kind := ck.declaredPath(p, s)
	if t != nil && of.ok && !of.failed {
		if cell, text, found := specialPath(of, t, kind, bytes); found {
			return of.Address(cell), "the path of " + s.String(), text
		}
	}
	if p.Len() == 0 || t != nil && of.Len() > 0 && below("/", plain(t, 0)) == plain(t, 0) {
		return "", "", "" // no jobs, or a path that no workdir is in
	}
	for _, dir := range ck.workdirs(p) {
		if strings.ContainsAny(dir, bytes) {
			return p.Address(0), "the workdir of " + s.String(), dir
		}
	}
	return "", "", ""
}

// declaredPath is the expression of the path behind a symbol, and the phase
// whose cells it reads; nil where only the workdir is known.
func (ck *checker) declaredPath(p *phaseBuild, s expr.Symbol) (of *phaseBuild, t *expr.Template, kind OutputKind) {
	switch s.Root {
	case "output":
		if o := p.output(s.Name); o != nil {
			kind = o.Kind
		}
		return p, outputTemplate(p, s.Name), kind
	case "checkpoint":
		return p, p.Phase.job.form[Run].checkpoint, p.Checkpoint.Kind
	case "input":
		for _, in := range p.Inputs {
			if in.Name == s.Name {
				of := ck.byName[in.From.Name]
				return of, outputTemplate(of, in.Output), File
			}
		}
		for _, in := range p.Raw {
			if in.Name == s.Name && in.list {
				return p, in.path, Glob
			} else if in.Name == s.Name {
				return p, in.path, File
			}
		}
	}
	return p, nil, File
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
