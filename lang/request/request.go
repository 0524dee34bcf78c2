// Package request finds what the jobs of a phase ask of a backend: resources
// and options are evaluated once for each combination of the axes they read, so
// that a million cells have as many requests as they differ in.
package request

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/providers/offer"
)

// A Request is what like jobs ask of a backend.
type Request struct {
	Shape   offer.Shape                // Options empty here
	Options map[string]json.RawMessage // job options by provider type
	Hash    [16]byte                   // of resources, options and candidates
}

func (r Request) clone() Request {
	r.Options = maps.Clone(r.Options)
	return r
}

// Jobs are those of one phase, as runs or as smokes.
type Jobs struct {
	Phase      string
	Block      *syntax.Block
	Grid       *grid.Grid
	Known      bool // the grid has no errors, and every value of it is known
	Candidates []string
	Overflow   []string
	Smoke      *Smoke // of the phase; nil: none
	IsSmoke    bool   // these are smokes

	// Compile makes a template of what must be known before the job runs, which
	// is called what; nil when that failed, which was told.
	Compile func(e hcl.Expression, what string) *expr.Template
}

// A Smoke is what smokes ask otherwise than runs.
type Smoke struct {
	Walltime   time.Duration
	Candidates []string
}

// A Table is what the cells of a phase ask.
type Table struct {
	Distinct  []Request
	Templates []*expr.Template     // what resources and options are made of
	Asks      map[string]hcl.Range // where each resource is written; those of a device are gpu.NAME

	of  *grid.Projection // nil: one request
	ids []int32          // by combination
}

// Of is the index of a cell's request in Distinct.
func (t *Table) Of(cell int) int {
	if t.of == nil {
		return 0
	}
	return int(t.ids[t.of.Of(cell)])
}

// finish adds what a smoke changes, and the hash.
func (b *builder) finish(r Request) Request {
	candidates := b.j.Candidates
	if b.j.IsSmoke {
		r.Shape.Smoke = true
		if w := b.j.Smoke.Walltime; w > 0 {
			r.Shape.Walltime = w
		}
		if len(b.j.Smoke.Candidates) > 0 {
			candidates = b.j.Smoke.Candidates
		}
	}
	s, places := r.Shape, candidates
	if len(b.j.Overflow) > 0 && !b.j.IsSmoke {
		places = slices.Concat(candidates, b.j.Overflow)
		candidates = slices.Concat(candidates, []string{"overflow"}, b.j.Overflow)
	}
	r.Shape.Nodes = b.set.Nodes(s, r.Options, b.j.Block.All("options"), places) // the hash has them by its options
	sum := sha256.Sum256(value.Encode(struct {
		V                               int
		CPUs, Memory, GPUs, Disk, Nodes int64
		Walltime                        string
		Models                          []string
		GPUMemory                       int64
		Smoke                           bool
		Options                         map[string]json.RawMessage
		Candidates                      []string
	}{1, int64(s.CPUs), s.Memory, int64(s.GPUs), s.Disk, int64(s.Nodes), s.Walltime.String(), s.GPU.Models, s.GPU.Memory, s.Smoke, r.Options, candidates}))
	copy(r.Hash[:], sum[:])
	return r
}
