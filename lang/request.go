package lang

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/providers/offer"
)

// A Request is the request of like jobs to a backend.
type Request struct {
	Shape   offer.Shape                // Options empty here
	Options map[string]json.RawMessage // job options by provider type
	Hash    [16]byte                   // of resources, options and candidates
}

func (r Request) clone() Request {
	r.Options = maps.Clone(r.Options)
	return r
}

// Requests are the distinct requests of the phase; RequestOf is the index for
// a cell. The slice is shared.
func (p *Phase) Requests(v Variant) []Request { return p.job.form[v].asked.Distinct }

// RequestOf is the index into Requests of a cell.
func (p *Phase) RequestOf(i int, v Variant) int { return p.job.form[v].asked.Of(i) }

// A requestTable holds the requests of a phase's cells, evaluated once for each
// combination of the axes that resources and options read: a million cells have
// only as many requests as there are different ones.
type requestTable struct {
	Distinct  []Request
	Templates []*expr.Template     // the templates of resources and options
	Asks      map[string]hcl.Range // where each resource is written; those of a device are gpu.NAME

	of  *grid.Projection // nil: one request
	ids []int32          // by combination
}

// Of is the index of a cell's request in Distinct.
func (t *requestTable) Of(cell int) int {
	if t.of == nil {
		return 0
	}
	return int(t.ids[t.of.Of(cell)])
}

// finish adds a smoke's changes, and the hash.
func (b *requestBuilder) finish(r Request) Request {
	candidates := b.p.Candidates
	if b.smoke {
		r.Shape.Smoke = true
		if w := b.p.Smoke.Walltime; w > 0 {
			r.Shape.Walltime = w
		}
		if len(b.p.Smoke.Candidates) > 0 {
			candidates = b.p.Smoke.Candidates
		}
	}
	s, places := r.Shape, candidates
	if !b.smoke {
		places = slices.Concat(candidates, Beyond(b.p.Phase))
	}
	if len(b.p.Overflow) > 0 && !b.smoke {
		candidates = slices.Concat(candidates, []string{"overflow"}, b.p.Overflow)
	}
	r.Shape.Nodes = b.backends.Nodes(s, r.Options, b.p.job.All("options"), places) // the hash has them by its options
	sum := sha256.Sum256(hashedRequest(s, b.p.Scratch, r.Options, candidates))
	copy(r.Hash[:], sum[:])
	return r
}

// hashedRequest is the text of the request hash: a JSON object.
func hashedRequest(s offer.Shape, scratch *Scratch, options map[string]json.RawMessage, candidates []string) []byte {
	text := []byte(`{"V":1`)
	add := func(key string, v any) {
		text = append(append(append(text, ','), value.Encode(key)...), ':')
		text = append(text, value.Encode(v)...)
	}
	for _, f := range slices.Concat(schema.Resources, schema.GPU) {
		if key, v, in := f.Hashed(&s); in {
			add(key, v)
		}
	}
	add("Smoke", s.Smoke)
	add("Options", options)
	add("Candidates", candidates)
	if scratch != nil {
		add("scratch", scratch)
	}
	return append(text, '}')
}
