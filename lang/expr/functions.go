package expr

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/disk"
)

// A Function is a function of the language.
type Function struct {
	Name string
	Doc  string // one line
	impl function.Function
	raw  bool // takes expressions, not values
	// size bounds the text of the result from above, in bytes; nil for functions
	// that make none longer than their arguments.
	size func(args []cty.Value) float64
}

// Functions are the language's functions by name. Paths are relative to
// baseDir. None depends on the time, on chance or on anything but its
// arguments and files, and what it asked of files is in reads, which may be
// nil. The result is new and the caller's own.
func Functions(baseDir string, reads *disk.Reads) map[string]function.Function {
	m := map[string]function.Function{}
	for _, f := range catalogue(disk.Disk{Base: baseDir, Reads: reads}) {
		if f.raw {
			m[f.Name] = f.impl
		} else {
			m[f.Name] = numbered(f.impl, f.size)
		}
	}
	return m
}

// FunctionList lists the functions by name, for documentation.
func FunctionList() []Function {
	list := catalogue(disk.Disk{Base: "."})
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// docs of a function's parameters as "name(a, b…)".
func (f Function) Signature() string {
	sig := f.Name + "("
	for i, p := range f.impl.Params() {
		if i > 0 {
			sig += ", "
		}
		sig += p.Name
	}
	if v := f.impl.VarParam(); v != nil {
		if len(f.impl.Params()) > 0 {
			sig += ", "
		}
		sig += v.Name + "…"
	}
	return sig + ")"
}

func catalogue(d disk.Disk) []Function {
	list := slices.Concat(standard(), gridFunctions(), textFunctions(), encodings(), fileFunctions(d))
	return append(list,
		Function{Name: "templatefile", Doc: "the template in a file, with the given variables", impl: templateFile(d, sync.OnceValue(func() map[string]function.Function {
			inner := Functions(d.Base, d.Reads)
			delete(inner, "templatefile") // no recursion
			return inner
		}))},
		Function{Name: "try", Doc: "the first argument that evaluates without an error", impl: tryfunc.TryFunc, raw: true},
		Function{Name: "can", Doc: "whether the argument evaluates without an error", impl: tryfunc.CanFunc, raw: true},
	)
}

// numbered wraps a function so that numbers it is given have the value, and
// where it wants text the text, of the language's rule. A call whose result
// would be too long is refused before it is made.
func numbered(f function.Function, size func([]cty.Value) float64) function.Function {
	params := slices.Clone(f.Params())
	want := make([]cty.Type, len(params))
	for i := range params {
		want[i] = params[i].Type
		params[i].Type = cty.DynamicPseudoType
		params[i].AllowDynamicType = true
	}
	rest := f.VarParam()
	var restType cty.Type
	if rest != nil {
		c := *rest
		restType = c.Type
		c.Type, c.AllowDynamicType = cty.DynamicPseudoType, true
		rest = &c
	}
	prepare := func(args []cty.Value) ([]cty.Value, error) {
		out := make([]cty.Value, len(args))
		for i, a := range args {
			ty := restType
			if i < len(want) {
				ty = want[i]
			}
			v, err := argument(a, ty)
			if err != nil {
				return nil, function.NewArgError(i, err)
			}
			out[i] = v
		}
		return out, nil
	}
	return function.New(&function.Spec{
		Description: f.Description(), Params: params, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			args, err := prepare(args)
			if err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := prepare(args)
			if err != nil {
				return cty.NilVal, err
			}
			if size != nil && size(args) > maxText {
				return cty.NilVal, errTooLong
			}
			v, err := f.Call(args)
			if errors.As(err, new(function.PanicError)) {
				return cty.NilVal, errNoResult
			}
			return v, err
		},
	})
}

// errNoResult stands for go-cty's account of a panic: what its functions
// panic on is a result that is no number, as of log(-1, 10).
var errNoResult = errors.New("there is no such number for these arguments")

// argument converts one argument to the type a function wants, as HCL would,
// but with the language's text for numbers.
func argument(v cty.Value, want cty.Type) (cty.Value, error) {
	v, err := units.Canonical(v)
	if err != nil {
		return v, err
	}
	if want == cty.DynamicPseudoType || v.Type() == want {
		return v, nil
	}
	if v.Type() == cty.Number && want == cty.String {
		if v, err = textOf(v); err != nil {
			return v, err
		}
	} else if wantsText(want) && !v.Type().IsPrimitiveType() {
		if v, err = texts(v); err != nil {
			return v, err
		}
	}
	return convert.Convert(alike(v, want), want)
}

// alike makes a list of a tuple whose elements have one type. Unifying them
// is left to convert only where they differ: it takes the square of their
// number.
func alike(v cty.Value, want cty.Type) cty.Value {
	ty := v.Type()
	if !ty.IsTupleType() || !want.IsListType() && !want.IsSetType() || v.IsMarked() || !v.IsKnown() || v.IsNull() {
		return v
	}
	types := ty.TupleElementTypes()
	for _, e := range types {
		if e != types[0] || e == cty.DynamicPseudoType {
			return v
		}
	}
	if len(types) == 0 || !types[0].IsPrimitiveType() {
		return v
	}
	return cty.ListVal(v.AsValueSlice())
}

func wantsText(ty cty.Type) bool {
	return ty.IsCollectionType() && (ty.ElementType() == cty.String || wantsText(ty.ElementType()))
}

// texts turns all numbers in a sequence or mapping into their texts.
func texts(v cty.Value) (cty.Value, error) {
	raw, marks := v.Unmark()
	ty := raw.Type()
	if !raw.IsKnown() || raw.IsNull() || ty.IsPrimitiveType() {
		t, err := textOf(raw)
		return t.WithMarks(marks), err
	}
	isMap := ty.IsMapType() || ty.IsObjectType()
	if !isMap && !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() || raw.LengthInt() == 0 {
		return v, nil
	}
	var list []cty.Value
	attrs := map[string]cty.Value{}
	for it := raw.ElementIterator(); it.Next(); {
		k, e := it.Element()
		e, err := texts(e)
		if err != nil {
			return v, err
		}
		if isMap {
			attrs[k.AsString()] = e
		} else {
			list = append(list, e)
		}
	}
	if isMap {
		return cty.ObjectVal(attrs).WithMarks(marks), nil
	}
	return cty.TupleVal(list).WithMarks(marks), nil
}

// standard are go-cty's own.
func standard() []Function {
	return []Function{
		{Name: "abs", Doc: "the absolute value", impl: stdlib.AbsoluteFunc},
		{Name: "ceil", Doc: "the least whole number not below", impl: stdlib.CeilFunc},
		{Name: "floor", Doc: "the greatest whole number not above", impl: stdlib.FloorFunc},
		{Name: "log", Doc: "the logarithm to a base", impl: stdlib.LogFunc},
		{Name: "pow", Doc: "a number to a power", impl: stdlib.PowFunc},
		{Name: "signum", Doc: "-1, 0 or 1", impl: stdlib.SignumFunc},
		{Name: "min", Doc: "the least of the numbers", impl: stdlib.MinFunc},
		{Name: "max", Doc: "the greatest of the numbers", impl: stdlib.MaxFunc},
		{Name: "parseint", Doc: "a whole number written in a base from 2 to 62", impl: stdlib.ParseIntFunc},

		{Name: "chomp", Doc: "the text without newlines at its end", impl: stdlib.ChompFunc},
		{Name: "lower", Doc: "the text in lower case", impl: stdlib.LowerFunc},
		{Name: "upper", Doc: "the text in upper case", impl: stdlib.UpperFunc},
		{Name: "title", Doc: "each word with a capital", impl: stdlib.TitleFunc},
		{Name: "strrev", Doc: "the text backwards", impl: stdlib.ReverseFunc},
		{Name: "substr", Doc: "a part of a text by offset and length", impl: stdlib.SubstrFunc},
		{Name: "split", Doc: "the parts between separators", impl: stdlib.SplitFunc},
		{Name: "sort", Doc: "the texts in order", impl: stdlib.SortFunc},
		{Name: "trim", Doc: "the text without the given characters at its ends", impl: stdlib.TrimFunc},
		{Name: "trimprefix", Doc: "the text without a prefix", impl: stdlib.TrimPrefixFunc},
		{Name: "trimsuffix", Doc: "the text without a suffix", impl: stdlib.TrimSuffixFunc},
		{Name: "trimspace", Doc: "the text without space at its ends", impl: stdlib.TrimSpaceFunc},
		{Name: "regex", Doc: "the first match of a regular expression (RE2)", impl: stdlib.RegexFunc},
		{Name: "regexall", Doc: "all matches of a regular expression (RE2)", impl: stdlib.RegexAllFunc},

		{Name: "chunklist", Doc: "a list in pieces of a length", impl: stdlib.ChunklistFunc},
		{Name: "coalesce", Doc: "the first argument that is not null or empty", impl: coalesce},
		{Name: "coalescelist", Doc: "the first list that is not empty", impl: stdlib.CoalesceListFunc},
		{Name: "compact", Doc: "the texts without empty ones", impl: stdlib.CompactFunc},
		{Name: "concat", Doc: "lists one after another", impl: stdlib.ConcatFunc},
		{Name: "contains", Doc: "whether a list holds a value", impl: stdlib.ContainsFunc},
		{Name: "distinct", Doc: "a list without repetitions", impl: stdlib.DistinctFunc},
		{Name: "element", Doc: "an element of a list, counting round", impl: stdlib.ElementFunc},
		{Name: "flatten", Doc: "lists in lists as one list", impl: stdlib.FlattenFunc},
		{Name: "keys", Doc: "the keys of a map, sorted", impl: stdlib.KeysFunc},
		{Name: "length", Doc: "the number of elements, or of characters of a text", impl: length},
		{Name: "lookup", Doc: "the element of a map, or a default", impl: stdlib.LookupFunc},
		{Name: "merge", Doc: "maps in one, the later ones prevailing", impl: stdlib.MergeFunc},
		{Name: "reverse", Doc: "a list backwards", impl: stdlib.ReverseListFunc},
		{Name: "setintersection", Doc: "what all sets hold", impl: stdlib.SetIntersectionFunc},
		{Name: "setsubtract", Doc: "what the first set holds and the second does not", impl: stdlib.SetSubtractFunc},
		{Name: "setunion", Doc: "what any set holds", impl: stdlib.SetUnionFunc},
		{Name: "slice", Doc: "a part of a list, from an index up to another", impl: stdlib.SliceFunc},
		{Name: "values", Doc: "the values of a map, in order of keys", impl: stdlib.ValuesFunc},
		{Name: "zipmap", Doc: "a map of keys and values", impl: stdlib.ZipmapFunc},

		{Name: "formatdate", Doc: "an RFC 3339 time in a format", impl: stdlib.FormatDateFunc},
		{Name: "timeadd", Doc: "an RFC 3339 time moved by a duration", impl: stdlib.TimeAddFunc},
		{Name: "jsonencode", Doc: "the value as JSON", impl: stdlib.JSONEncodeFunc},
		{Name: "jsondecode", Doc: "the value that JSON holds", impl: jsonDecode},
		{Name: "csvdecode", Doc: "the rows of a CSV text with a header, as objects", impl: stdlib.CSVDecodeFunc},

		{Name: "tobool", Doc: "the value as a bool", impl: stdlib.MakeToFunc(cty.Bool)},
		{Name: "tonumber", Doc: "the value as a number", impl: stdlib.MakeToFunc(cty.Number)},
		{Name: "tostring", Doc: "the value as text", impl: toString},
		{Name: "tolist", Doc: "the value as a list", impl: stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))},
		{Name: "toset", Doc: "the value as a set", impl: stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))},
		{Name: "tomap", Doc: "the value as a map", impl: stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType))},
	}
}
