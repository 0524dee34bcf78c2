package expr

import (
	"bytes"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
)

// Canonical text
//
// The text of a template is its output, with symbols by name:
//
// 	python train.py --n 384 --out ${output.checkpoint}
//
// It must never be the same for two different contents, so literal text that looks like a
// symbol is told apart: the dollars directly before a brace are doubled ("$${HOME}" is the
// shell's own). Other values are written as ${…} with JSON inside, which no literal can be.

// AppendText appends the canonical text of cell i as written: the output of
// the expression for the cell, symbols by name. Equal texts mean equal
// content. It does not allocate beyond buf for plain templates and tables.
func (t *Template) AppendText(buf []byte, i int) []byte {
	start := len(buf)
	g := t.scope.grid()
	for k := range t.segs {
		switch s := &t.segs[k]; s.kind {
		case segAxis:
			buf = appendText(buf, start, s.vals[g.Coord(i, s.axis)])
		case segKey:
			buf = g.AppendKey(buf, i)
		case segTable:
			buf = s.tab.append(buf, start, i)
		default:
			buf = appendText(buf, start, s.text)
		}
	}
	return buf
}

// Text is AppendText as a string.
func (t *Template) Text(i int) string { return string(t.AppendText(nil, i)) }

// appendText appends a text that is escaped in itself. Dollars at the end of
// the text before it are doubled when they come before a brace.
func appendText(buf []byte, start int, text string) []byte {
	if len(text) == 0 {
		return buf
	}
	if n := len(buf); n > start && buf[n-1] == '$' && (text[0] == '{' || text[0] == '$') {
		rest := strings.TrimLeft(text, "$")
		if strings.HasPrefix(rest, "{") {
			run := n - start - len(bytes.TrimRight(buf[start:], "$"))
			buf = append(buf, buf[n-run:]...)
		}
	}
	return append(buf, text...)
}

// escape doubles the dollars directly before a brace.
func escape(s string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	var b strings.Builder
	run := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '$':
			run++
			b.WriteByte('$')
			continue
		case '{':
			for ; run > 0; run-- {
				b.WriteByte('$')
			}
		}
		run = 0
		b.WriteByte(s[i])
	}
	return b.String()
}

// Unescape turns canonical text without symbols back into the text that it
// represents, and leaves symbols as they are written.
func Unescape(s string) string {
	if !strings.Contains(s, "$${") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 0
		for i+n < len(s) && s[i+n] == '$' {
			n++
		}
		if i+n < len(s) && s[i+n] == '{' {
			b.WriteString(s[i : i+n/2+n%2])
		} else {
			b.WriteString(s[i : i+n])
		}
		if i += n; i < len(s) {
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// valueText is the canonical text of a value: strings, numbers and bools as
// they print, anything else as ${JSON}.
func valueText(v cty.Value) string {
	raw, _ := v.UnmarkDeep()
	if raw.IsKnown() && !raw.IsNull() {
		switch raw.Type() {
		case cty.String:
			return escape(raw.AsString())
		case cty.Bool:
			if raw.True() {
				return "true"
			}
			return "false"
		case cty.Number:
			if text, _, err := units.NumberText(raw); err == nil {
				return text
			}
			return errorText
		}
	}
	return "${" + string(appendJSON(nil, raw)) + "}"
}

// appendJSON appends a value as JSON with sorted keys and the language's numbers. An unknown
// value is the bare word unknown.
func appendJSON(buf []byte, v cty.Value) []byte {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return append(buf, "unknown"...)
	case v.IsNull():
		return append(buf, "null"...)
	case ty == cty.String:
		return appendQuoted(buf, v.AsString())
	case ty.IsPrimitiveType():
		return append(buf, valueText(v)...)
	case ty.IsObjectType() || ty.IsMapType():
		return appendObject(buf, v)
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		buf = append(buf, '[')
		first := true
		for it := v.ElementIterator(); it.Next(); {
			if !first {
				buf = append(buf, ',')
			}
			first = false
			_, e := it.Element()
			buf = appendJSON(buf, e)
		}
		return append(buf, ']')
	}
	return append(buf, "opaque"...)
}

func appendObject(buf []byte, v cty.Value) []byte {
	buf = append(buf, '{')
	first := true
	for it := v.ElementIterator(); it.Next(); { // in order of keys
		if !first {
			buf = append(buf, ',')
		}
		first = false
		k, e := it.Element()
		buf = append(appendQuoted(buf, k.AsString()), ':')
		buf = appendJSON(buf, e)
	}
	return append(buf, '}')
}

// appendQuoted appends a JSON string, always quoted, without "${".
func appendQuoted(buf []byte, s string) []byte {
	return addr.AppendQuoted(buf, s)
}
