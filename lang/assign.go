package lang

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// assign converts and keeps a value.
func (l *variableReader) assign(v *variable, val cty.Value, at *hcl.Range, from string) {
	if v.defaults != nil && !val.IsNull() {
		val = v.defaults.Apply(val)
	}
	converted, err := convert.Convert(val, v.typ)
	if err == nil {
		converted, err = units.Canonical(converted)
	}
	if err != nil {
		d := diag.Diagnostic{Summary: "Invalid value for a variable", Subject: at,
			Detail: fmt.Sprintf("The variable %q cannot take the value from %s: %s.", v.b.Name(), from, err)}
		if at == nil {
			d.Subject = v.b.Range.Ptr()
		}
		l.Sure.Append(d)
		converted = cty.UnknownVal(v.typ)
	}
	v.value, v.at, v.from = converted, at, from
}

// assignText reads a value from a flag or the environment: as text for
// a string, number or bool, else as an expression.
func (l *variableReader) assignText(name, text, from string) {
	v := l.vars[name]
	if !v.typed || v.typ.IsPrimitiveType() {
		l.assign(v, cty.StringVal(text), nil, from)
		return
	}
	if len(text) > syntax.MaxBytes {
		l.Sure.Errorf("The value is too long", "The value of %q from %s has %d bytes.", name, from, len(text))
		return
	}
	src, ds := syntax.Scan(from, []byte(text))
	if !ds.HasErrors() {
		e, hds := hclsyntax.ParseExpression(src, from, hcl.InitialPos)
		if ds = diag.FromHCL(hds); !ds.HasErrors() {
			var val cty.Value
			if val, ds = expr.Eval(e, l.Functions()); !ds.HasErrors() {
				l.assign(v, val, nil, from)
				return
			}
		}
	}
	l.Sure.Append(diag.Diagnostic{Summary: "Invalid value for a variable", Subject: v.b.Range.Ptr(),
		Detail: fmt.Sprintf("The value of %q from %s is not an expression for its type, %s: %s.", name, from, typeexpr.TypeString(v.typ), wording.First(ds))})
	v.value = cty.UnknownVal(v.typ)
}

// flag is one -var.
func (l *variableReader) flag(kv string) {
	name, text, ok := strings.Cut(kv, "=")
	switch name = strings.TrimSpace(name); {
	case !ok:
		l.Sure.Errorf("A variable needs a value", "-var %s has no equals sign; write -var '%s=VALUE'.", wording.Clip(kv), wording.Clip(kv))
	case l.vars[name] == nil:
		l.Perhaps.Errorf("Undeclared variable", "-var names the variable %q, which the campaign does not declare%s", wording.Clip(name), wording.Known(name, slices.Sorted(maps.Keys(l.vars)), "the variables are"))
	default:
		l.assignText(name, text, "-var")
	}
}

// file reads a -var-file; its path is relative to where muster was started.
func (l *variableReader) file(path string) {
	src, err := syntax.ReadCapped(path)
	if err != nil {
		l.Sure.Errorf("A file of variables cannot be read", "-var-file: %v.", err)
		return
	}
	name := path
	if rel, err := filepath.Rel(l.given.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	if body, ok := l.Parse(name, src); ok {
		l.assignFile(syntax.File{Name: name, Body: body})
	}
}

func (l *variableReader) assignFile(f syntax.File) {
	for _, b := range f.Body.Blocks {
		l.Sure.Errorat(b.TypeRange, "A block among variables", "A file of variables holds NAME = VALUE only; blocks belong in *.muster.hcl.")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Body.Attributes)) {
		a := f.Body.Attributes[name]
		v := l.vars[name]
		if v == nil {
			l.Perhaps.Warnat(a.NameRange, "Undeclared variable", "The campaign declares no variable %q%s The value is not used.", wording.Clip(name), wording.DidYouMean(name, slices.Sorted(maps.Keys(l.vars))))
			continue
		}
		if reads := a.Expr.Variables(); len(reads) > 0 {
			l.Sure.Errorat(reads[0].SourceRange(), "A file of variables reads no names", "It holds values only; put strings in quotes, and expressions into locals.")
			v.value = cty.DynamicVal
			continue
		}
		val, ds := expr.Eval(a.Expr, l.Functions())
		l.Sure.Append(ds...)
		if !ds.HasErrors() {
			l.assign(v, val, a.Expr.Range().Ptr(), f.Name)
		}
	}
}
