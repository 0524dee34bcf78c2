package console

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
)

// Format is a value as HCL would write it; a list or a map of more than a few
// entries has one a line.
func Format(v cty.Value) string {
	v, _ = v.UnmarkDeep()
	if v == cty.NilVal || !v.IsWhollyKnown() {
		return "(not known yet)"
	}
	return format(v, "")
}

const (
	shortList = 8  // entries of simple values that are written on one line
	shortLine = 72 // columns of it
)

func format(v cty.Value, indent string) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty == cty.Number:
		if text, _, err := units.NumberText(v); err == nil {
			return text
		}
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return listText(v, indent)
	case ty.IsObjectType() || ty.IsMapType():
		return mapText(v, indent)
	case ty.IsCapsuleType():
		return fmt.Sprintf("(%s)", ty.FriendlyName())
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

func listText(v cty.Value, indent string) string {
	simple, width := true, 0
	var texts []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		text := format(e, indent+"  ")
		simple = simple && (e.IsNull() || e.Type().IsPrimitiveType())
		width += len(text) + len(", ")
		texts = append(texts, text)
	}
	if simple && len(texts) <= shortList && width <= shortLine {
		return "[" + strings.Join(texts, ", ") + "]"
	}
	var b strings.Builder
	b.WriteString("[\n")
	for _, text := range texts {
		b.WriteString(indent + "  " + text + ",\n")
	}
	return b.String() + indent + "]"
}

func mapText(v cty.Value, indent string) string {
	if v.LengthInt() == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		b.WriteString(indent + "  " + keyText(k.AsString()) + " = " + format(e, indent+"  ") + "\n")
	}
	return b.String() + indent + "}"
}

func keyText(k string) string {
	if hclsyntax.ValidIdentifier(k) {
		return k
	}
	return string(hclwrite.TokensForValue(cty.StringVal(k)).Bytes())
}
