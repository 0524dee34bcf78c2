package functions

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/value"
)

// maxText bounds the text that one call makes, in bytes, as that of a file.
const maxText = disk.MaxText

var errTooLong = fmt.Errorf("the text would be longer than %d MiB", maxText>>20)

func textFunctions() []entry {
	return []entry{
		{Name: "format", Doc: "values in a format: %s text, %d whole, %05d padded, %.3f digits, %v any", impl: stdlib.FormatFunc, size: formatSize},
		{Name: "formatlist", Doc: "as format, for each element of lists", impl: stdlib.FormatListFunc, size: formatSize},
		{Name: "join", Doc: "texts with a separator between them", impl: stdlib.JoinFunc, size: joinSize},
		{Name: "indent", Doc: "every line but the first moved right by n spaces", impl: stdlib.IndentFunc, size: indentSize},
		{Name: "replace", Doc: "a part of a text replaced; /…/ is a regular expression", impl: replace, size: replaceSize},
		{Name: "startswith", Doc: "whether a text begins with another", impl: textTest("prefix", strings.HasPrefix)},
		{Name: "endswith", Doc: "whether a text ends with another", impl: textTest("suffix", strings.HasSuffix)},
		{Name: "strcontains", Doc: "whether a text holds another", impl: textTest("substr", strings.Contains)},
		{Name: "shellquote", Doc: "a text, or each element of a list, quoted for /bin/sh", impl: shellQuote},
		{Name: "tostring", Doc: "the value as text", impl: toString},
	}
}

func textLen(v cty.Value) float64 {
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() {
		return 0
	}
	if v.Type() == cty.String {
		return float64(len(v.AsString()))
	}
	if !v.CanIterateElements() {
		return 8
	}
	total := 0.0
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		total += textLen(e)
	}
	return total
}

// wideVerb finds a width or precision of four digits and more.
var wideVerb = lazyregexp.New(`%[^a-zA-Z%]*[0-9]{4,}`)

func formatSize(args []cty.Value) float64 {
	spec, _ := args[0].Unmark()
	if spec.IsKnown() && !spec.IsNull() && spec.Type() == cty.String && wideVerb.MatchString(spec.AsString()) {
		return maxText + 1
	}
	verbs, longest := 0.0, 0.0
	if spec.IsKnown() && !spec.IsNull() && spec.Type() == cty.String {
		verbs = float64(strings.Count(spec.AsString(), "%"))
	}
	for _, a := range args {
		longest = max(longest, textLen(a))
	}
	return verbs * longest
}

func joinSize(args []cty.Value) float64 {
	total, n := 0.0, 0
	for _, a := range args[1:] {
		total += textLen(a)
		if a, _ = a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
			n += a.LengthInt()
		}
	}
	return total + float64(n)*textLen(args[0])
}

func indentSize(args []cty.Value) float64 {
	n, _ := args[0].AsBigFloat().Float64()
	return max(n, 0)*float64(strings.Count(args[1].AsString(), "\n")) + n
}

func replaceSize(args []cty.Value) float64 {
	return textLen(args[0]) + textLen(args[0])*textLen(args[2])
}

var replace = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}, {Name: "replacement", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if p := args[1].AsString(); len(p) > 1 && p[0] == '/' && p[len(p)-1] == '/' {
			return stdlib.RegexReplaceFunc.Call([]cty.Value{args[0], cty.StringVal(p[1 : len(p)-1]), args[2]})
		}
		return stdlib.ReplaceFunc.Call(args)
	},
})

func textTest(name string, test func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: name, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(test(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// toString prints numbers by the language's rule; numbered has done so.
var toString = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.String, AllowNull: true}},
	Type:   function.StaticReturnType(cty.String),
	Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
})

var shellQuote = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		if !v.IsWhollyKnown() {
			return cty.UnknownVal(cty.String), nil
		}
		ty := v.Type()
		if ty.IsPrimitiveType() {
			v = cty.TupleVal([]cty.Value{v})
		} else if !ty.IsListType() && !ty.IsTupleType() && !ty.IsSetType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a text or a list of texts")
		}
		var words []string
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			t, err := value.Spelled(e)
			if err == nil {
				t, err = convert.Convert(t, cty.String)
			}
			if err != nil || t.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "must be a text or a list of texts")
			}
			if strings.Contains(t.AsString(), "\x00") {
				return cty.NilVal, function.NewArgErrorf(0, "holds a NUL byte, which no command line can")
			}
			words = append(words, shell.Quote(t.AsString()))
		}
		return cty.StringVal(strings.Join(words, " ")), nil
	},
})
