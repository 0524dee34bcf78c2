package main

import (
	"encoding/json"

	"github.com/muster-run/muster/cmd/muster/page"
)

// encode prints a JSON document on one line.
func (a *app) encode(v any) error { return a.encoder().Encode(v) }

// encoder writes JSON to standard output.
func (a *app) encoder() *json.Encoder { return page.Encoder(a.stdout) }
