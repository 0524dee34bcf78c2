package functions

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/units"
)

// Bounds of lists that functions make. A grid is never a list in memory, so
// it has no such bound.
const (
	maxList    = 1_000_000
	maxProduct = 100_000
)

func sequences() []entry {
	return []entry{
		{Name: "range", Doc: "numbers from a start up to a limit, by a step", impl: rangeFunc},
		{Name: "linspace", Doc: "n numbers from a start to an end, equally far apart, both ends included", impl: linspace},
		{Name: "logspace", Doc: "n numbers from 10^start to 10^end, equally far apart in their logarithm", impl: logspace},
		{Name: "seeds", Doc: "n whole numbers from base on: seeds(3, 42) is [42, 43, 44]", impl: seeds},
	}
}

func number(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.Number}
}

// whole is an argument that must be a whole number within bounds.
func whole(v cty.Value, least, most int64) (int64, error) {
	n, acc := v.AsBigFloat().Int64()
	if acc != big.Exact || n < least || n > most {
		return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
	}
	return n, nil
}

func rangeSteps(args []cty.Value) (start, step *big.Float, n int, err error) {
	start, step = new(big.Float), big.NewFloat(1)
	var limit *big.Float
	switch len(args) {
	case 1:
		limit = args[0].AsBigFloat()
	case 2, 3:
		start, limit = args[0].AsBigFloat(), args[1].AsBigFloat()
	default:
		return nil, nil, 0, errors.New("range takes one to three numbers: range(limit), range(start, limit) or range(start, limit, step)")
	}
	if limit.Cmp(start) < 0 {
		step = big.NewFloat(-1)
	}
	if len(args) == 3 {
		step = args[2].AsBigFloat()
	}
	if start.IsInf() || limit.IsInf() || step.IsInf() {
		return nil, nil, 0, errors.New("the numbers must be finite")
	}
	span := new(big.Float).SetPrec(512).Sub(limit, start)
	if span.Sign() == 0 {
		return start, step, 0, nil
	}
	if step.Sign() != span.Sign() {
		return nil, nil, 0, errors.New("the step must lead from start to limit")
	}
	count := span.Quo(span, step)
	if count.Cmp(big.NewFloat(maxList)) > 0 {
		return nil, nil, 0, fmt.Errorf("the list would have over %d elements; make it an axis with fewer values, or give a larger step", maxList)
	}
	whole, _ := count.Int64()
	if !count.IsInt() {
		whole++
	}
	return start, step, int(whole), nil
}

var rangeFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "params", Type: cty.Number},
	Type:     function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		start, step, n, err := rangeSteps(args)
		if err != nil {
			return cty.NilVal, err
		}
		list := make([]cty.Value, n)
		for i := range list {
			x := new(big.Float).SetPrec(512).SetInt64(int64(i))
			list[i] = cty.NumberVal(x.Add(x.Mul(x, step), start))
		}
		return numbers(list)
	},
})

// numbers is a list of numbers, each by the language's rule.
func numbers(list []cty.Value) (cty.Value, error) {
	if len(list) == 0 {
		return cty.ListValEmpty(cty.Number), nil
	}
	for i, v := range list {
		c, err := units.Canonical(v)
		if err != nil {
			return cty.NilVal, err
		}
		list[i] = c
	}
	return cty.ListVal(list), nil
}

var linspace = function.New(&function.Spec{
	Params: []function.Parameter{number("start"), number("end"), number("n")},
	Type:   function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		list, err := spaced(args)
		if err != nil {
			return cty.NilVal, err
		}
		return numbers(list)
	},
})

// spaced computes with 512 bits, so that the ends and whole steps are exact.
func spaced(args []cty.Value) ([]cty.Value, error) {
	n, err := whole(args[2], 0, maxList)
	if err != nil {
		return nil, function.NewArgErrorf(2, "n %v", err)
	}
	start, end := args[0].AsBigFloat(), args[1].AsBigFloat()
	if start.IsInf() || end.IsInf() {
		return nil, errors.New("the ends must be finite")
	}
	list := make([]cty.Value, n)
	for i := range list {
		x := new(big.Float).SetPrec(512).Set(start)
		if i > 0 {
			step := new(big.Float).SetPrec(512).Sub(end, start)
			step.Mul(step, new(big.Float).SetInt64(int64(i)))
			x.Add(x, step.Quo(step, new(big.Float).SetInt64(n-1)))
		}
		list[i] = cty.NumberVal(x)
	}
	return list, nil
}

var logspace = function.New(&function.Spec{
	Params: []function.Parameter{number("start"), number("end"), number("n")},
	Type:   function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		list, err := spaced(args)
		if err != nil {
			return cty.NilVal, err
		}
		for i, v := range list {
			if list[i], err = powerOfTen(v); err != nil {
				return cty.NilVal, err
			}
		}
		return numbers(list)
	},
})

// powerOfTen is exact for whole exponents; others are rounded to 15 digits, so
// that libraries for floating point cannot make one campaign two.
func powerOfTen(v cty.Value) (cty.Value, error) {
	f, _ := v.AsBigFloat().Float64()
	if math.Abs(f) > 300 {
		return cty.NilVal, errors.New("the exponents must be between -300 and 300")
	}
	if f == math.Trunc(f) {
		return cty.ParseNumberVal(fmt.Sprintf("1e%d", int(f)))
	}
	return cty.ParseNumberVal(fmt.Sprintf("%.14e", math.Pow(10, f)))
}

var seeds = function.New(&function.Spec{
	Params: []function.Parameter{number("n"), number("base")},
	Type:   function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n, err := whole(args[0], 0, maxList)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "n %v", err)
		}
		base, err := whole(args[1], math.MinInt64, math.MaxInt64-maxList)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(1, "base must be a whole number")
		}
		list := make([]cty.Value, n)
		for i := range list {
			list[i] = cty.NumberIntVal(base + int64(i))
		}
		return numbers(list)
	},
})
