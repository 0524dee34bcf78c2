package lang

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/functions"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// envPrefix begins the environment variables that give variables a value.
const envPrefix = "MUSTER_VAR_"

// A variable is a declaration, and the value last given.
type variable struct {
	b        *syntax.Block
	typ      cty.Type
	typed    bool // a type is written
	defaults *typeexpr.Defaults
	hidden   bool

	value cty.Value // NilVal: none given
	at    *hcl.Range
	from  string // "-var", a file's name, …
}

// An Assignment is one -var or -var-file of a command line.
type Assignment struct {
	File string // of -var-file
	Var  string // of -var: "name=value"
}

// A Variable is a campaign variable and its value.
type Variable struct {
	Name      string
	Text      string // the value as JSON; "" when sensitive or unknown
	Digest    string // of a sensitive value, keyed by the caller; "" otherwise
	Sensitive bool
	Secrets   []string // the texts of a sensitive value, to hide them in output; never stored
	Known     bool     // false only in validate, where variables may lack a value
}

// A variableReader gives variables and locals their values.
type variableReader struct {
	*decode.Reader
	given LoadOptions
	top   *syntax.Block // all files' blocks as one
	vars  map[string]*variable
	out   []Variable
}

// readVariables declares variables and locals and gives them values, so that
// expressions see var and local from here on: it sets r.Static.
func readVariables(r *decode.Reader, top *syntax.Block, given LoadOptions) []Variable {
	l := &variableReader{Reader: r, given: given, top: top, vars: map[string]*variable{}}
	l.variables()
	l.locals()
	l.validations()
	return l.out
}

// variables gives the variables their values: the last wins.
func (l *variableReader) variables() {
	l.Static = l.Meter.Context().NewChild()
	l.Static.Functions = functions.All(disk.Disk{Base: l.given.Dir, Roots: disk.Roots(l.given.Environ)}, l.Meter.Eval, l.Meter.Spend)
	l.Static.Variables = map[string]cty.Value{}
	for _, b := range l.top.All("variable") {
		l.declare(b)
	}
	for _, kv := range l.given.Environ {
		name, text, _ := strings.Cut(kv, "=")
		if name, ok := strings.CutPrefix(name, envPrefix); ok && l.vars[name] != nil {
			l.assignText(name, text, "the environment's "+envPrefix+name)
		}
	}
	for _, f := range l.Variables {
		l.assignFile(f)
	}
	for _, name := range l.given.VarFiles {
		l.file(name)
	}
	for _, kv := range l.given.Vars {
		l.flag(kv)
	}
	for _, a := range l.given.CommandLine {
		if a.File != "" {
			l.file(a.File)
		} else {
			l.flag(a.Var)
		}
	}
	l.settle()
}

func (l *variableReader) declare(b *syntax.Block) {
	v := &variable{b: b, typ: cty.DynamicPseudoType}
	l.vars[b.Name()] = v
	if e := b.Expr("type"); e != nil {
		ty, defaults, hds := typeexpr.TypeConstraintWithDefaults(e)
		for i, d := range diag.FromHCL(hds) {
			if word := hds[i].Subject; word != nil && hds[i].Summary == "Invalid type specification" {
				d.Detail += typeHint(l.Source.Text(*word))
			}
			l.Sure.Append(d)
		}
		if !hds.HasErrors() {
			v.typ, v.defaults, v.typed = ty, defaults, true
		}
	}
	v.hidden = l.Bool(b, "sensitive")
	e := b.Expr("default")
	if e == nil {
		return
	}
	if reads := e.Variables(); len(reads) > 0 {
		l.Sure.Errorat(reads[0].SourceRange(), "A default reads no names", "Variables get their values before anything else is known. Write the value out, or put the expression into locals and read that.")
		v.value = cty.DynamicVal
		return
	}
	val, ds := expr.Eval(e, l.Functions())
	l.Sure.Append(ds...)
	if !ds.HasErrors() {
		l.assign(v, val, e.Range().Ptr(), "its default")
	}
	if v.value == cty.NilVal {
		v.value = cty.DynamicVal // told above; nothing is to follow from it
	}
}

// typeWords are the first words of types.
var typeWords = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple", "optional"}

func typeHint(word string) string {
	if slices.Contains([]string{"list", "set", "map"}, word) {
		return fmt.Sprintf(" Write %s(string), %s(number) or %s(any).", word, word, word)
	}
	if near := diag.Suggest(word, typeWords); near != "" && near != word {
		return fmt.Sprintf(" Did you mean %s?", near)
	}
	return " Types are string, number, bool, any, list(…), set(…), map(…), object({…}) and tuple([…])."
}

// settle makes var.* and the campaign's record of it.
func (l *variableReader) settle() {
	vals := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(l.vars)) {
		v := l.vars[name]
		if v.value == cty.NilVal {
			v.value = cty.UnknownVal(v.typ)
			if !l.given.AllowUnknownVars && !l.Broken {
				l.Sure.Append(diag.Diagnostic{Summary: fmt.Sprintf("The variable %q has no value", name), Subject: v.b.Range.Ptr(),
					Detail: l.howToSet(v)})
			}
		}
		rec := Variable{Name: name, Sensitive: v.hidden, Known: v.value.IsWhollyKnown()}
		if rec.Known {
			text := string(value.JSON(v.value))
			if v.hidden {
				rec.Digest = keyedDigest(l.given.SensitiveKey, text)
				rec.Secrets = textsWithin(v.value)
			} else {
				rec.Text = text
			}
		}
		l.out = append(l.out, rec)
		vals[name] = v.value
		if v.hidden {
			vals[name] = v.value.Mark(value.Sensitive)
		}
	}
	l.Static.Variables["var"] = cty.ObjectVal(vals)
}

// textsWithin are the texts and numbers in a value.
func textsWithin(v cty.Value) (out []string) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if part.IsKnown() && !part.IsNull() && (part.Type() == cty.String || part.Type() == cty.Number) {
			if s, err := convert.Convert(part, cty.String); err == nil {
				out = append(out, s.AsString())
			}
		}
		return true, nil
	})
	return out
}

// howToSet names the exact flag to add.
func (l *variableReader) howToSet(v *variable) string {
	name := v.b.Name()
	sample := "VALUE"
	if d := l.Text(v.b, "description"); d != "" {
		sample = strings.ToUpper(name)
	}
	if v.typed && !v.typ.IsPrimitiveType() {
		sample = "[…]"
		if v.typ.IsObjectType() || v.typ.IsMapType() {
			sample = "{…}"
		}
	}
	s := fmt.Sprintf("Add -var '%s=%s', or set %s%s, or write %s = … in a file named *%s.", name, sample, envPrefix, name, name, syntax.VariablesSuffix)
	if d := l.Text(v.b, "description"); d != "" {
		s = wording.Sentence(fmt.Errorf("%s", d)) + " " + s
	}
	return s
}

// keyedDigest is in a state in place of a sensitive value.
func keyedDigest(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// validations checks the conditions of variables, once locals are known.
func (l *variableReader) validations() {
	for _, name := range slices.Sorted(maps.Keys(l.vars)) {
		v := l.vars[name]
		for _, b := range v.b.All("validation") {
			cond, ok := l.Eval(b.Expr("condition"))
			if !ok {
				continue
			}
			raw, _ := cond.Unmark()
			if raw.Type() != cty.Bool {
				l.Wrong(b.Expr("condition"), "condition", "A condition is true or false, not %s.", wording.A(raw))
				continue
			}
			if raw.True() {
				continue
			}
			d := diag.Diagnostic{Summary: fmt.Sprintf("The value of %q is not valid", name), Detail: l.Text(b, "error_message"), Subject: v.at, Context: b.Range.Ptr()}
			if d.Subject == nil {
				d.Subject = b.Expr("condition").Range().Ptr()
			}
			if v.from != "" && !v.hidden {
				d.Detail = strings.TrimSpace(d.Detail) + fmt.Sprintf("\n\nThe value came from %s.", v.from)
				d.Values = []diag.Value{{Traversal: "var." + name, Statement: "is " + wording.Clip(string(value.JSON(v.value)))}}
			}
			l.Sure.Append(d)
		}
	}
}
