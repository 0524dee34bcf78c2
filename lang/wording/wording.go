// Package wording builds small parts of messages: articles, counts, and
// suggestions for misspelt names.
package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
)

// Article puts a or an before a noun.
func Article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) || noun == "ssh" {
		return "an " + noun
	}
	return "a " + noun
}

// A names the kind of a value, as people call it: a list, an object, a string.
func A(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return "a list"
	case ty.IsMapType() || ty.IsObjectType():
		return "an object"
	}
	return Article(ty.FriendlyName())
}

// Count is so many of a noun, in words up to two.
func Count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "one " + noun
	case 2:
		return "two " + noun + "s"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Capitalised begins a text with a capital.
func Capitalised(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Clip shortens foreign text for a message.
func Clip(s string) string {
	const most = 60 // characters
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Sentence makes an error a sentence.
func Sentence(err error) string {
	return strings.TrimSuffix(Capitalised(err.Error()), ".") + "."
}

// DidYouMean ends a sentence, with the nearest of the known names if one is near.
func DidYouMean(name string, known []string) string {
	if s := diag.Suggest(name, known); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return "."
}

// Known ends a sentence like DidYouMean; where nothing is near it lists the
// known names, introduced by are.
func Known(name string, known []string, are string) string {
	const most = 12 // names listed
	switch s := DidYouMean(name, known); {
	case s != ".":
		return s
	case len(known) == 0:
		return "; there are none here."
	case len(known) > most:
		known = append(slices.Clone(known[:most]), "…")
	}
	return "; " + are + " " + strings.Join(known, ", ") + "."
}

// IsAlnum reports an ASCII letter or digit.
func IsAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// First is the first of some diagnostics as part of a sentence.
func First(ds diag.List) string {
	for _, d := range ds {
		return strings.TrimSuffix(d.Summary+": "+d.Detail, ".")
	}
	return ""
}
