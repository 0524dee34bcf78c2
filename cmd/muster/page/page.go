// Package page holds the answers of commands. An answer is a value made from a
// campaign and its state; it is its own JSON document and formats its text for
// people. The package asks no backend, prints nothing and reads no clock.
package page

import (
	"encoding/json"
	"io"
)

// FormatVersion is the version of every JSON document but those that name
// their own: minor versions add, major ones break (docs/compatibility.md).
const FormatVersion = "1.0"

// Encoder writes JSON as people type it: "<" stays "<".
func Encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
