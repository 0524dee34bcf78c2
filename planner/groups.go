package planner

import (
	"encoding/json"

	"github.com/muster-run/muster/providers/offer"
)

// A Group is like jobs of one phase: same resources, options and candidates.
type Group struct {
	Phase      string
	Cells      int
	First      int // its first cell
	Candidates []string
	Shape      offer.Shape
	Options    map[string]json.RawMessage
	Smoke      bool
}
