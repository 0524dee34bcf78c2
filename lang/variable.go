package lang

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
)

// envPrefix begins the environment variables that give variables a value.
const envPrefix = "MUSTER_VAR_"

// sensitive marks values that must not be written down.
const sensitive = "sensitive"

// A variable is a declaration, and the value last given.
type variable struct {
	b        *block
	typ      cty.Type
	typed    bool // a type is written
	defaults *typeexpr.Defaults
	hidden   bool

	value cty.Value // NilVal: none given
	at    *hcl.Range
	from  string // "-var", a file's name, …
}

// variables declares the variables and gives them values: from the
// environment, then *.auto.mustervars.hcl, then the command line in order;
// the last wins.
func (l *loader) variables() {
	l.static = &hcl.EvalContext{Functions: expr.Functions(l.o.Dir), Variables: map[string]cty.Value{}}
	for _, b := range l.top.all("variable") {
		l.declare(b)
	}
	for _, kv := range l.o.Environ {
		name, text, _ := strings.Cut(kv, "=")
		if name, ok := strings.CutPrefix(name, envPrefix); ok && l.vars[name] != nil {
			l.assignText(name, text, "the environment's "+envPrefix+name)
		}
	}
	for _, f := range l.varFiles {
		l.assignFile(f)
	}
	for _, name := range l.o.VarFiles {
		l.varFile(name)
	}
	for _, kv := range l.o.Vars {
		l.varFlag(kv)
	}
	for _, a := range l.o.CommandLine {
		if a.File != "" {
			l.varFile(a.File)
		} else {
			l.varFlag(a.Var)
		}
	}
	l.settle()
}

func (l *loader) declare(b *block) {
	v := &variable{b: b, typ: cty.DynamicPseudoType}
	l.vars[b.name()] = v
	if e := b.expr("type"); e != nil {
		ty, defaults, hds := typeexpr.TypeConstraintWithDefaults(e)
		l.sure.Append(diag.FromHCL(hds)...)
		if !hds.HasErrors() {
			v.typ, v.defaults, v.typed = ty, defaults, true
		}
	}
	v.hidden = l.boolean(b, "sensitive")
	e := b.expr("default")
	if e == nil {
		return
	}
	val, ds := expr.Eval(e, l.functions())
	l.sure.Append(ds...)
	if !ds.HasErrors() {
		l.assign(v, val, e.Range().Ptr(), "its default")
	}
	if v.value == cty.NilVal {
		v.value = cty.DynamicVal // told above; nothing is to follow from it
	}
}

// functions is a scope without names.
func (l *loader) functions() *hcl.EvalContext {
	return &hcl.EvalContext{Functions: map[string]function.Function(l.static.Functions)}
}

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

// settle makes var.* and the campaign's record of it.
func (l *loader) settle() {
	vals := map[string]cty.Value{}
	for _, name := range sortedKeys(l.vars) {
		v := l.vars[name]
		if v.value == cty.NilVal {
			v.value = cty.UnknownVal(v.typ)
			if !l.o.AllowUnknownVars {
				l.sure.Append(diag.Diagnostic{Summary: fmt.Sprintf("The variable %q has no value", name), Subject: v.b.rng.Ptr(),
					Detail: l.howToSet(v)})
			}
		}
		rec := Variable{Name: name, Sensitive: v.hidden, Known: v.value.IsWhollyKnown()}
		if rec.Known {
			text := string(jsonValue(v.value))
			if v.hidden {
				rec.Digest = keyedDigest(l.o.SensitiveKey, text)
			} else {
				rec.Text = text
			}
			l.digest.add("variable", name, []byte(rec.Text+rec.Digest))
		}
		l.c.Variables = append(l.c.Variables, rec)
		vals[name] = v.value
		if v.hidden {
			vals[name] = v.value.Mark(sensitive)
		}
	}
	l.static.Variables["var"] = cty.ObjectVal(vals)
}

// howToSet names the exact flag to add.
func (l *loader) howToSet(v *variable) string {
	name := v.b.name()
	sample := "VALUE"
	if d := l.text(v.b, "description"); d != "" {
		sample = strings.ToUpper(name)
	}
	if v.typed && !v.typ.IsPrimitiveType() {
		sample = "[…]"
		if v.typ.IsObjectType() || v.typ.IsMapType() {
			sample = "{…}"
		}
	}
	s := fmt.Sprintf("Add -var '%s=%s', or set %s%s, or write %s = … in a file named *%s.", name, sample, envPrefix, name, name, autoSuffix)
	if d := l.text(v.b, "description"); d != "" {
		s = sentence(fmt.Errorf("%s", d)) + " " + s
	}
	return s
}

// keyedDigest stands for a sensitive value in a state.
func keyedDigest(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// validations checks the conditions of variables, once locals are known.
func (l *loader) validations() {
	for _, name := range sortedKeys(l.vars) {
		v := l.vars[name]
		for _, b := range v.b.all("validation") {
			cond, ok := l.eval(b.expr("condition"))
			if !ok {
				continue
			}
			raw, _ := cond.Unmark()
			if raw.Type() != cty.Bool {
				l.wrong(b.expr("condition"), "condition", "A condition is true or false, not %s.", article(raw.Type().FriendlyName()))
				continue
			}
			if raw.True() {
				continue
			}
			d := diag.Diagnostic{Summary: fmt.Sprintf("The value of %q is not valid", name), Detail: l.text(b, "error_message"), Subject: v.at, Context: b.rng.Ptr()}
			if d.Subject == nil {
				d.Subject = b.expr("condition").Range().Ptr()
			}
			if v.from != "" && !v.hidden {
				d.Detail = strings.TrimSpace(d.Detail) + fmt.Sprintf("\n\nThe value came from %s.", v.from)
				d.Values = []diag.Value{{Traversal: "var." + name, Statement: "is " + clip(string(jsonValue(v.value)))}}
			}
			l.sure.Append(d)
		}
	}
}
