// Package page holds what commands answer: each a value that is its JSON
// document, made of a campaign and its state, and its text for people. It asks
// nobody, prints nothing and knows no clock: what is here is what was seen,
// put into words.
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
