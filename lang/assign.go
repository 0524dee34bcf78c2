package lang

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
)

// assign converts and keeps a value.
func (l *loader) assign(v *variable, val cty.Value, at *hcl.Range, from string) {
	if v.defaults != nil && !val.IsNull() {
		val = v.defaults.Apply(val)
	}
	converted, err := convert.Convert(val, v.typ)
	if err == nil {
		converted, err = units.Canonical(converted)
	}
	if err != nil {
		d := diag.Diagnostic{Summary: "Invalid value for a variable", Subject: at,
			Detail: fmt.Sprintf("The variable %q cannot take the value from %s: %s.", v.b.name(), from, err)}
		if at == nil {
			d.Subject = v.b.rng.Ptr()
		}
		l.sure.Append(d)
		converted = cty.UnknownVal(v.typ)
	}
	v.value, v.at, v.from = converted, at, from
}

// assignText reads a value from a flag or the environment: as it stands for
// a string, number or bool, else as an expression.
func (l *loader) assignText(name, text, from string) {
	v := l.vars[name]
	if !v.typed || v.typ.IsPrimitiveType() {
		l.assign(v, cty.StringVal(text), nil, from)
		return
	}
	if len(text) > maxFileBytes {
		l.sure.Errorf("The value is too long", "The value of %q from %s has %d bytes.", name, from, len(text))
		return
	}
	src, ds := scan(from, []byte(text))
	if !ds.HasErrors() {
		e, hds := hclsyntax.ParseExpression(src, from, hcl.InitialPos)
		if ds = diag.FromHCL(hds); !ds.HasErrors() {
			var val cty.Value
			if val, ds = expr.Eval(e, l.functions()); !ds.HasErrors() {
				l.assign(v, val, nil, from)
				return
			}
		}
	}
	l.sure.Append(diag.Diagnostic{Summary: "Invalid value for a variable", Subject: v.b.rng.Ptr(),
		Detail: fmt.Sprintf("The value of %q from %s is not an expression for its type, %s: %s.", name, from, typeexpr.TypeString(v.typ), firstDetail(ds))})
	v.value = cty.UnknownVal(v.typ)
}

func firstDetail(ds diag.List) string {
	for _, d := range ds {
		return strings.TrimSuffix(d.Summary+": "+d.Detail, ".")
	}
	return ""
}

// varFlag is one -var.
func (l *loader) varFlag(kv string) {
	name, text, ok := strings.Cut(kv, "=")
	switch name = strings.TrimSpace(name); {
	case !ok:
		l.sure.Errorf("A variable needs a value", "-var %s has no equals sign; write -var '%s=VALUE'.", clip(kv), clip(kv))
	case l.vars[name] == nil:
		l.ds.Errorf("Undeclared variable", "-var names the variable %q, which the campaign does not declare%s", clip(name), didYouMean(name, sortedKeys(l.vars)))
	default:
		l.assignText(name, text, "-var")
	}
}

// varFile reads a -var-file; its path is relative to where muster was started.
func (l *loader) varFile(path string) {
	src, err := readCapped(path)
	if err != nil {
		l.sure.Errorf("A file of variables cannot be read", "-var-file: %v.", err)
		return
	}
	name := path
	if rel, err := filepath.Rel(l.o.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	if body, ok := l.parse(name, src); ok {
		l.assignFile(varFile{name, body})
	}
}

func (l *loader) assignFile(f varFile) {
	for _, b := range f.body.Blocks {
		l.sure.Errorat(b.TypeRange, "A block among variables", "A file of variables holds NAME = VALUE only; blocks belong in *.muster.hcl.")
	}
	for _, name := range sortedKeys(f.body.Attributes) {
		a := f.body.Attributes[name]
		v := l.vars[name]
		if v == nil {
			l.ds.Warnat(a.NameRange, "Undeclared variable", "The campaign declares no variable %q%s The value is not used.", clip(name), didYouMean(name, sortedKeys(l.vars)))
			continue
		}
		val, ds := expr.Eval(a.Expr, l.functions())
		l.sure.Append(ds...)
		if !ds.HasErrors() {
			l.assign(v, val, a.Expr.Range().Ptr(), f.name)
		}
	}
}
