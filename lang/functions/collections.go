package functions

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func collections() []entry {
	return []entry{
		{Name: "alltrue", Doc: "whether all elements are true", impl: truth(true)},
		{Name: "anytrue", Doc: "whether any element is true", impl: truth(false)},
		{Name: "one", Doc: "the only element of a list, or null for an empty one", impl: one},
		{Name: "index", Doc: "the place of a value in a list", impl: indexOf},
		{Name: "setproduct", Doc: "all combinations of the elements of several lists", impl: setProduct},
		{Name: "sum", Doc: "the sum of a list of numbers", impl: sum},
		{Name: "coalesce", Doc: "the first argument that is not null or empty", impl: coalesce},
		{Name: "length", Doc: "the number of elements, or of characters of a text", impl: length},
	}
}

func truth(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for _, e := range args[0].AsValueSlice() {
				if !e.IsKnown() {
					return cty.UnknownVal(cty.Bool), nil
				}
				if e.IsNull() || e.True() != all {
					if all == (e.IsNull() || e.False()) {
						return cty.BoolVal(!all), nil
					}
				}
			}
			return cty.BoolVal(all), nil
		},
	})
}

var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   func(args []cty.Value) (cty.Type, error) { return cty.DynamicPseudoType, nil },
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		if !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list")
		}
		switch list := args[0].AsValueSlice(); len(list) {
		case 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case 1:
			return list[0], nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "must have one element or none")
	},
})

var indexOf = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if ty := args[0].Type(); !ty.IsTupleType() && !ty.IsListType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list")
		}
		for i, e := range args[0].AsValueSlice() {
			if eq, err := stdlib.Equal(e, args[1]); err == nil && eq.IsKnown() && !eq.IsNull() && eq.True() {
				return cty.NumberIntVal(int64(i)), nil
			}
		}
		return cty.NilVal, errors.New("the list does not hold the value")
	},
})

var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].Type() == cty.String {
			return stdlib.Strlen(args[0])
		}
		if ty := args[0].Type(); ty.IsPrimitiveType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list, a map or a text")
		}
		if args[0].Type().IsObjectType() {
			return cty.NumberIntVal(int64(len(args[0].Type().AttributeTypes()))), nil
		}
		return stdlib.Length(args[0])
	},
})

// coalesce passes over empty texts, too, as Terraform's does.
var coalesce = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		if len(args) == 0 {
			return cty.NilType, errors.New("coalesce needs an argument")
		}
		var types []cty.Type
		for _, a := range args {
			if a.Type() != cty.DynamicPseudoType { // of a bare null
				types = append(types, a.Type())
			}
		}
		if len(types) == 0 {
			return cty.DynamicPseudoType, nil
		}
		ty, _ := convert.UnifyUnsafe(types)
		if ty == cty.NilType {
			return cty.NilType, errors.New("all arguments must have one type")
		}
		return ty, nil
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		for _, a := range args {
			v, err := argument(a, ty)
			if err != nil {
				return cty.NilVal, err
			}
			if !v.IsKnown() {
				return cty.UnknownVal(ty), nil
			}
			if v.IsNull() || ty == cty.String && v.AsString() == "" {
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("all arguments are null or empty")
	},
})

var setProduct = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "sets", Type: cty.DynamicPseudoType, AllowMarked: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		n := 1.0
		for _, a := range args {
			a, _ = a.Unmark()
			if a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
				n *= float64(a.LengthInt())
			}
		}
		if n > maxProduct {
			return cty.NilType, fmt.Errorf("the product would have %.0f elements, at most %d are allowed; give a grid these lists as axes instead: it takes no memory per cell", n, maxProduct)
		}
		return stdlib.SetProductFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return stdlib.SetProductFunc.Call(args) },
})

var sum = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		if !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list of numbers")
		}
		total := new(big.Float).SetPrec(512)
		for it := args[0].ElementIterator(); it.Next(); {
			_, e := it.Element()
			if !e.IsKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
			if e.Type() != cty.Number || e.IsNull() || e.AsBigFloat().IsInf() {
				return cty.NilVal, function.NewArgErrorf(0, "must be a list of finite numbers")
			}
			total.Add(total, e.AsBigFloat())
		}
		return cty.NumberVal(total), nil
	},
})
