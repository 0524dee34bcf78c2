package main

import (
	"encoding/json"
	"io"
)

// encode prints a JSON document on one line.
func (a *app) encode(v any) error { return a.encoder().Encode(v) }

// encoder writes JSON to standard output.
func (a *app) encoder() *json.Encoder { return encoderTo(a.stdout) }

// encoderTo writes JSON as people type it: "<" stays "<".
func encoderTo(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
