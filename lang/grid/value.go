package grid

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
)

// maxText bounds the text of one axis value, in bytes: keys are shown, sorted
// and made into folder names.
const maxText = 1024

// A Value is one value of an axis with its texts, made once.
type Value struct {
	V       cty.Value // numbers canonical, also inside objects
	Text    string    // as a template prints it; for an object its key attribute
	KeyText string    // Text as it belongs in a key, quoted where needed
	IsNum   bool
	Num     float64 // for order; exact order of big integers is by V
	Object  bool
}

// NewValue makes an axis value from a string, a number, a bool, or an object
// with a key attribute that is one of these. Equal texts are equal values.
func NewValue(v cty.Value) (Value, error) {
	switch {
	case v.ContainsMarked():
		return Value{}, errors.New("a sensitive value cannot be an axis value: it would appear in keys and paths")
	case !v.IsWhollyKnown():
		return Value{}, errors.New("the value is not known yet: a grid's axes must be known before anything runs")
	case v.IsNull():
		return Value{}, errors.New("null is not an axis value")
	case v.Type().IsObjectType():
		return objectValue(v)
	}
	return plainValue(v)
}

func objectValue(v cty.Value) (Value, error) {
	if !v.Type().HasAttribute("key") {
		return Value{}, errors.New("an object on an axis needs a key attribute, which is its text: { key = \"small\", … }")
	}
	key := v.GetAttr("key")
	if key.IsNull() || !key.Type().IsPrimitiveType() {
		return Value{}, errors.New("the key attribute of an object on an axis must be a string, a number or a bool")
	}
	val, err := plainValue(key)
	if err != nil {
		return Value{}, err
	}
	val.V, err = units.Canonical(v)
	val.Object = true
	return val, err
}

func plainValue(v cty.Value) (val Value, err error) {
	switch v.Type() {
	case cty.String:
		val = Value{V: v, Text: v.AsString()}
	case cty.Bool:
		val = Value{V: v, Text: "false"}
		if v.True() {
			val.Text = "true"
		}
	case cty.Number:
		val.IsNum = true
		if val.Text, val.V, err = units.NumberText(v); err != nil {
			return Value{}, err
		}
		val.Num, _ = val.V.AsBigFloat().Float64()
	default:
		return Value{}, fmt.Errorf("%s is not an axis value: axes hold strings, numbers, bools, or objects with a key attribute", kind(v.Type()))
	}
	switch {
	case !utf8.ValidString(val.Text):
		return Value{}, errors.New("the text is not valid UTF-8")
	case len(val.Text) > maxText:
		return Value{}, fmt.Errorf("the text has %d bytes, at most %d fit in a key: use an object with a short key attribute", len(val.Text), maxText)
	}
	val.KeyText = string(addr.AppendKeyText(nil, val.Text))
	return val, nil
}

// compare orders numbers by value, before all others by text.
func compare(a, b Value) int {
	switch {
	case a.IsNum && b.IsNum:
		if c := a.number().Cmp(b.number()); c != 0 {
			return c
		}
	case a.IsNum:
		return -1
	case b.IsNum:
		return 1
	}
	return cmp.Compare(a.Text, b.Text)
}

// number is the number a value is ordered by: itself, or an object's key.
func (v *Value) number() *big.Float {
	if v.Object {
		return v.V.GetAttr("key").AsBigFloat()
	}
	return v.V.AsBigFloat()
}

// kind names the type of a value that cannot be on an axis.
func kind(ty cty.Type) string {
	if ty.IsTupleType() || ty.IsListType() || ty.IsSetType() {
		return "a list"
	}
	return "a " + ty.FriendlyName()
}
