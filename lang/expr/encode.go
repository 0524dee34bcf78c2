package expr

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang/addr"
)

// encoding is a template as stored in a state: enough to print its text for
// any cell from the texts of the cell's axes alone. Version 1 of the form is
// read by all later versions.
type encoding struct {
	V    int       `json:"v"`
	Segs []encoded `json:"s"`
}

type encoded struct {
	Text  string            `json:"t,omitempty"` // escaped text, or a symbol
	Axis  string            `json:"a,omitempty"`
	Key   bool              `json:"k,omitempty"`
	Axes  []string          `json:"x,omitempty"` // of a table, sorted
	Table map[string]string `json:"m,omitempty"` // by the key of these axes
}

// Encode returns the template as stored in a definition. A part that takes
// more than 4096 combinations is stored as its normal form instead of its texts.
func (t *Template) Encode() json.RawMessage {
	enc := encoding{V: 1, Segs: make([]encoded, 0, len(t.segs))}
	g := t.scope.grid()
	for k := range t.segs {
		switch s := &t.segs[k]; s.kind {
		case segAxis:
			enc.Segs = append(enc.Segs, encoded{Axis: g.Axes[s.axis].Name})
		case segKey:
			enc.Segs = append(enc.Segs, encoded{Key: true})
		case segTable:
			enc.Segs = append(enc.Segs, s.tab.encode())
		default:
			enc.Segs = append(enc.Segs, encoded{Text: s.text})
		}
	}
	out, err := json.Marshal(enc)
	if err != nil {
		panic("muster: a template does not encode: " + err.Error())
	}
	return out
}

func (b *table) encode() encoded {
	b.once.Do(b.init)
	if b.proj == nil || b.proj.Len() > smallTable {
		return encoded{Text: "${" + source(b.t.scope, b.e) + "}"}
	}
	g := b.t.scope.grid()
	e := encoded{Table: map[string]string{}}
	for _, a := range b.axes {
		e.Axes = append(e.Axes, g.Axes[a].Name)
	}
	pairs := make([]addr.Pair, len(b.axes))
	for c := range b.proj.Len() {
		first := b.proj.First(c)
		for k, a := range b.axes {
			pairs[k] = addr.Pair{Axis: g.Axes[a].Name, Text: g.Value(first, a).Text}
		}
		e.Table[addr.JoinKey(pairs)] = string(b.append(nil, 0, first))
	}
	return e
}

// DecodeText prints a stored template for a cell, given the texts of its axes,
// as AppendText did when it was stored. A combination that the grid did not
// have then prints as ${unknown}.
func DecodeText(enc json.RawMessage, axes map[string]string) (string, error) {
	var e encoding
	if err := json.Unmarshal(enc, &e); err != nil {
		return "", fmt.Errorf("read stored template: %w", err)
	}
	if e.V != 1 {
		return "", fmt.Errorf("read stored template: version %d is not known to this version of muster", e.V)
	}
	var buf []byte
	for _, s := range e.Segs {
		switch {
		case s.Axis != "":
			text, ok := axes[s.Axis]
			if !ok {
				return "", fmt.Errorf("read stored template: the cell has no axis %q", s.Axis)
			}
			buf = appendText(buf, 0, escape(text))
		case s.Key:
			buf = append(buf, keyOf(slices.Sorted(maps.Keys(axes)), axes)...)
		case s.Table != nil:
			text, ok := s.Table[keyOf(s.Axes, axes)]
			if !ok {
				text = "${unknown}"
			}
			buf = appendText(buf, 0, text)
		default:
			buf = appendText(buf, 0, s.Text)
		}
	}
	return string(buf), nil
}

func keyOf(names []string, axes map[string]string) string {
	pairs := make([]addr.Pair, 0, len(names))
	for _, n := range names {
		pairs = append(pairs, addr.Pair{Axis: n, Text: axes[n]})
	}
	return addr.JoinKey(pairs)
}
