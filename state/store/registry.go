package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Options say who opens a store, for which campaign.
type Options struct {
	Dir    string // of the campaign; relative paths of a store's config start there
	Muster string // version of muster, noted in files
	Who    string // shown to others while the lease is held; the login name if empty
}

// An Opener opens a store by the content of its `state` block, as JSON. It
// connects nowhere and writes nothing: the first method that is called does.
type Opener func(config json.RawMessage, o Options) (Store, error)

var openers = map[string]Opener{}

// Register adds a type of store. The store's package calls it from init; two
// stores of one name are a bug and panic.
func Register(typ string, open Opener) {
	if openers[typ] != nil {
		panic("store " + typ + " is registered twice")
	}
	openers[typ] = open
}

// Open opens the store of a `state "typ"` block. The zero config is allowed.
func Open(typ string, config json.RawMessage, o Options) (Store, error) {
	open := openers[typ]
	if open == nil {
		return nil, fmt.Errorf("there is no state store %q; this muster has: %s", typ, strings.Join(slices.Sorted(maps.Keys(openers)), ", "))
	}
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	return open(config, o)
}
