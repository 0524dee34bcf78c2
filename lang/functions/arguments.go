package functions

import (
	"errors"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/value"
)

// numbered wraps a function so that numbers it is given have the value, and
// where it wants text the text, of the language's rule. A call whose result
// would be too long is refused before it is made.
func numbered(f function.Function, size func([]cty.Value) float64, spend func(...cty.Value) error) function.Function {
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
	prepare := func(args []cty.Value) ([]cty.Value, error) { return converted(args, want, restType) }
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
			if spend != nil {
				if err := spend(args...); err != nil {
					return cty.NilVal, err
				}
			}
			v, err := f.Call(args)
			if errors.As(err, new(function.PanicError)) {
				return cty.NilVal, errNoResult
			}
			if err == nil && spend != nil {
				err = spend(v)
			}
			return v, err
		},
	})
}

// converted converts arguments to the types of a function's parameters; rest is the type
// of those beyond them.
func converted(args []cty.Value, want []cty.Type, rest cty.Type) ([]cty.Value, error) {
	out := make([]cty.Value, len(args))
	for i, a := range args {
		ty := rest
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

// errNoResult replaces go-cty's account of a panic: its functions panic on a
// result that is no number, as of log(-1, 10).
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
		if v, err = value.Spelled(v); err != nil {
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
		t, err := value.Spelled(raw)
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
