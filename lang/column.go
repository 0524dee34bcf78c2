package lang

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A column is one resource or option over the cells: evaluated once per
// combination of the axes it reads.
type requestColumn struct {
	name string
	expr hcl.Expression
	t    *expr.Template
	set  func(r *Request, v cty.Value) error

	proj grid.Projection
	ids  []int32 // by combination, into vals
	vals []cty.Value
}

// read lists the values of a job's resources and options.
func (b *requestBuilder) read() (ok bool) {
	ok = true
	b.base = Request{Shape: offer.Shape{CPUs: 1, Nodes: 1}}
	res := b.p.job.One("resources")
	ok = b.resources(res, schema.Resources, "") && ok
	if gpu := res.One("gpu"); gpu != nil {
		if v, known := b.Peek(res.Expr("gpus"), nil); known && v.RawEquals(cty.Zero) {
			b.Sure.Errorat(gpu.Range, "A gpu block without GPUs", "gpu says what each GPU must be, and gpus = 0 asks for none. Take one of them out.")
		}
		if res.Expr("gpus") == nil {
			b.base.Shape.GPUs = 1
		}
		ok = b.resources(gpu, schema.GPU, "gpu.") && ok
	}
	for _, o := range b.p.job.All("options") {
		b.unused(o)
		ok = b.options(o) && ok
	}
	return ok
}

// resources reads the attributes of a block; as is the prefix of their names in
// Asks. It is false when a template did not compile, which was reported.
func (b *requestBuilder) resources(of *syntax.Block, fields []schema.Field[offer.Shape], as string) (ok bool) {
	ok = true
	for i := range fields {
		f := &fields[i]
		e := of.Expr(f.Name)
		if e == nil {
			continue
		}
		if b.t.Asks == nil {
			b.t.Asks = map[string]hcl.Range{}
		}
		b.t.Asks[as+f.Name] = e.Range()
		ok = b.column(f.Name, e, "a resource", func(r *Request, v cty.Value) error { return f.Set(&r.Shape, v) }) && ok
	}
	return ok
}

// column adds one; false when its template did not compile, which was reported.
func (b *requestBuilder) column(name string, e hcl.Expression, what string, set func(*Request, cty.Value) error) bool {
	t := b.template(b.p, b.scope, e, what)
	if t == nil {
		return false
	}
	b.written = append(b.written, &requestColumn{name: name, expr: e, t: t, set: set})
	return true
}

// unused warns of options for a type of backend that the jobs never run on.
func (b *requestBuilder) unused(o *syntax.Block) {
	places := slices.Concat(b.p.Candidates, Beyond(b.p.Phase))
	if b.p.Smoke != nil {
		places = append(places, b.p.Smoke.Candidates...)
	}
	if len(b.p.Candidates) == 0 || slices.ContainsFunc(places, func(at string) bool { return strings.HasPrefix(at, o.Name()+".") }) {
		return
	}
	if _, known := b.schemas[o.Name()]; known {
		b.Perhaps.Warnat(o.Range, "Options that nothing reads", "phase.%s runs on %s; none of them has type %s, so these options have no effect.", b.p.Name, strings.Join(b.p.Candidates, ", "), o.Name())
	}
}

// options reads an options block against its provider's schema.
func (b *requestBuilder) options(o *syntax.Block) (ok bool) {
	kind := o.Name()
	schema, known := b.schemas[kind]
	if !known {
		b.Sure.Errorat(o.Syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", wording.Clip(kind), wording.DidYouMean(kind, slices.Sorted(maps.Keys(b.schemas))), b.backends.KnownTypes())
		return false
	}
	if b.base.Options == nil {
		b.base.Options = map[string]json.RawMessage{}
	}
	if schema.Opaque {
		return true
	}
	b.base.Options[kind] = value.Encode(b.Options(schema.Options, o.Syntax.Body, "options "+kind))
	ok = true
	for _, a := range schema.Options.Attrs {
		e := o.Expr(a.Name)
		if e == nil {
			if a.Required && !b.Broken {
				b.Sure.Errorat(o.Range, a.Name+" is missing", "options %q needs %s = …: %s", kind, a.Name, diag.Lower(a.Doc))
			}
			continue
		}
		ok = b.column(a.Name, e, "an option", func(r *Request, v cty.Value) error { return setOption(r, kind, a, v) }) && ok
	}
	return ok
}

// setOption adds one attribute to a provider's options.
func setOption(r *Request, kind string, a offer.Attr, v cty.Value) error {
	out, err := value.Typed(a, v)
	if err != nil {
		return err
	}
	if s, isText := out.(string); isText && len(a.OneOf) > 0 && !slices.Contains(a.OneOf, s) {
		return fmt.Errorf("%q is not one of its values%s", wording.Clip(s), wording.DidYouMean(s, a.OneOf))
	}
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.Options[kind], &m); err != nil {
		return err
	}
	m[a.Name] = value.Encode(out)
	r.Options[kind] = value.Encode(m)
	return nil
}
