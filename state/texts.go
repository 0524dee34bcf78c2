package state

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// Texts are a few texts by name, sorted by name, each name once. They take a sixth
// of the memory of a map. They are replaced and never changed, so that records can
// share them.
type Texts []Text

// A Text has a name.
type Text struct{ Name, Value string }

// TextsOf are the texts of a map; an empty map has none.
func TextsOf(m map[string]string) Texts {
	if len(m) == 0 {
		return nil
	}
	out := make(Texts, 0, len(m))
	for name, value := range m {
		out = append(out, Text{name, value})
	}
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b Text) int { return strings.Compare(a.Name, b.Name) }

// Get is the text of a name, "" where there is none.
func (t Texts) Get(name string) string {
	for i := range t {
		if t[i].Name == name {
			return t[i].Value
		}
	}
	return ""
}

// All yields each name and its text, in order.
func (t Texts) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range t {
			if !yield(t[i].Name, t[i].Value) {
				return
			}
		}
	}
}

// Map has the texts by name; it is nil where there are none.
func (t Texts) Map() map[string]string {
	if len(t) == 0 {
		return nil
	}
	m := make(map[string]string, len(t))
	for name, value := range t.All() {
		m[name] = value
	}
	return m
}

// With are the texts, and those of a map, which replace texts of the same name.
func (t Texts) With(more map[string]string) Texts {
	if len(more) == 0 {
		return t
	}
	out := TextsOf(more)
	for name, value := range t.All() {
		if _, ok := more[name]; !ok {
			out = append(out, Text{name, value})
		}
	}
	slices.SortFunc(out, byName)
	return out
}

// MarshalJSON writes an object.
func (t Texts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // as the encoder around it says
	if err := enc.Encode(t.Map()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	var m map[string]string
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*t = TextsOf(m)
	return nil
}
