package lang

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/diag"
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
		for i, d := range diag.FromHCL(hds) {
			if word := hds[i].Subject; word != nil && hds[i].Summary == "Invalid type specification" {
				d.Detail += typeHint(l.textAt(*word))
			}
			l.sure.Append(d)
		}
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

// typeWords are what a type may begin with.
var typeWords = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple", "optional"}

func typeHint(word string) string {
	if near := diag.Suggest(word, typeWords); near != "" {
		return fmt.Sprintf(" Did you mean %s?", near)
	}
	return " Types are string, number, bool, any, list(…), set(…), map(…), object({…}) and tuple([…])."
}

// textAt is the source of a range.
func (l *loader) textAt(r hcl.Range) string {
	if f := l.c.Files[r.Filename]; f != nil && r.CanSliceBytes(f.Bytes) {
		return string(r.SliceBytes(f.Bytes))
	}
	return ""
}

// functions is a scope without names.
func (l *loader) functions() *hcl.EvalContext {
	return &hcl.EvalContext{Functions: map[string]function.Function(l.static.Functions)}
}

// settle makes var.* and the campaign's record of it.
func (l *loader) settle() {
	vals := map[string]cty.Value{}
	for _, name := range sortedKeys(l.vars) {
		v := l.vars[name]
		if v.value == cty.NilVal {
			v.value = cty.UnknownVal(v.typ)
			if !l.o.AllowUnknownVars && !l.broken {
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
