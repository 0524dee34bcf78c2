package units

import (
	"github.com/zclconf/go-cty/cty"
)

// Canonical gives every number in a value the value of its text, so that 11*0.001, 0.011 and
// 1.1e-2 are one number. It keeps unknown values and marks.
func Canonical(v cty.Value) (cty.Value, error) {
	ty := v.Type()
	if !holdsNumbers(ty) {
		return v, nil
	}
	if ty == cty.Number {
		return canonicalNumber(v)
	}
	return cty.Transform(v, func(_ cty.Path, e cty.Value) (cty.Value, error) {
		return canonicalNumber(e)
	})
}

func canonicalNumber(v cty.Value) (cty.Value, error) {
	if v.Type() != cty.Number {
		return v, nil
	}
	raw, marks := v.Unmark()
	if raw.IsNull() || !raw.IsKnown() {
		return v, nil
	}
	if bf := raw.AsBigFloat(); bf.IsInt() && bf.MantExp(nil) <= maxIntegerBits {
		return v, nil
	}
	_, c, err := NumberText(raw)
	if err != nil {
		return v, err
	}
	return c.WithMarks(marks), nil
}

// holdsNumbers reports whether a value of the type can hold a number.
func holdsNumbers(ty cty.Type) bool {
	switch {
	case ty == cty.Number || ty == cty.DynamicPseudoType:
		return true
	case ty.IsCollectionType():
		return holdsNumbers(ty.ElementType())
	case ty.IsTupleType():
		for _, e := range ty.TupleElementTypes() {
			if holdsNumbers(e) {
				return true
			}
		}
	case ty.IsObjectType():
		for _, e := range ty.AttributeTypes() {
			if holdsNumbers(e) {
				return true
			}
		}
	}
	return false
}
