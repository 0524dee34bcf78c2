package lang

import (
	"encoding/json"
	"fmt"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A storedField is a template, or a repeat axis.
type storedField struct {
	Name string          `json:"name"`
	Text json.RawMessage `json:"text,omitempty"`
	Axis string          `json:"axis,omitempty"`
}

// Stored is the list as a state keeps it.
func (l hashedFields) Stored(g *grid.Grid) []storedField {
	out := []storedField{}
	for _, f := range l {
		if f.t == nil {
			out = append(out, storedField{Name: f.name, Axis: g.Axes[f.axis].Name})
		} else {
			out = append(out, storedField{Name: f.name, Text: f.t.Encode()})
		}
	}
	return out
}

// Print is the field's text for a job with these texts of its axes.
func (f storedField) Print(axes map[string]string) (string, error) {
	if f.Axis == "" {
		return expr.DecodeText(f.Text, axes)
	}
	text, ok := axes[f.Axis]
	if !ok {
		return "", fmt.Errorf("the cell has no axis %q", f.Axis)
	}
	return text, nil
}
