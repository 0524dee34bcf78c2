package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A column is one resource or option over the cells: evaluated once per
// combination of the axes it reads.
type column struct {
	name string
	expr hcl.Expression
	t    *expr.Template
	set  func(r *Request, v cty.Value) error

	proj grid.Projection
	ids  []int32 // by combination, into vals
	vals []cty.Value
}

// read lists what a job's resources and options say.
func (b *builder) read() (ok bool) {
	ok = true
	b.base = Request{Shape: offer.Shape{CPUs: 1, Nodes: 1}}
	res := b.j.Block.One("resources")
	add := func(of *syntax.Block, name string, set func(*Request, cty.Value) error) {
		e := of.Expr(name)
		if e == nil {
			return
		}
		b.ask(of == res, name, e.Range())
		ok = b.column(name, e, "a resource", set) && ok
	}
	add(res, "cpus", func(r *Request, v cty.Value) error { return setInt(&r.Shape.CPUs, v, 1) })
	add(res, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Memory, v) })
	add(res, "gpus", func(r *Request, v cty.Value) error { return setGPUs(&r.Shape.GPUs, v) })
	add(res, "disk", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Disk, v) })
	add(res, "nodes", func(r *Request, v cty.Value) error { return setInt(&r.Shape.Nodes, v, 1) })
	add(res, "walltime", func(r *Request, v cty.Value) error { return setWalltime(&r.Shape.Walltime, v) })
	if gpu := res.One("gpu"); gpu != nil {
		if v, known := b.Peek(res.Expr("gpus"), nil); known && v.RawEquals(cty.Zero) {
			b.Sure.Errorat(gpu.Range, "A gpu block without GPUs", "gpu says what each GPU must be, and gpus = 0 asks for none. Take one of them out.")
		}
		if res.Expr("gpus") == nil {
			b.base.Shape.GPUs = 1
		}
		add(gpu, "models", func(r *Request, v cty.Value) error { return setModels(&r.Shape.GPU.Models, v) })
		add(gpu, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.GPU.Memory, v) })
	}
	for _, o := range b.j.Block.All("options") {
		b.unused(o)
		ok = b.options(o) && ok
	}
	return ok
}

// column adds one; false when its template did not compile, which was told.
func (b *builder) column(name string, e hcl.Expression, what string, set func(*Request, cty.Value) error) bool {
	t := b.j.Compile(e, what)
	if t == nil {
		return false
	}
	b.written = append(b.written, &column{name: name, expr: e, t: t, set: set})
	return true
}

// ask notes where a resource is written.
func (b *builder) ask(plain bool, name string, at hcl.Range) {
	if !plain {
		name = "gpu." + name
	}
	if b.t.Asks == nil {
		b.t.Asks = map[string]hcl.Range{}
	}
	b.t.Asks[name] = at
}

// setGPUs tells Slurm's form, gpus = "a100:2", apart.
func setGPUs(n *int, v cty.Value) error {
	if text, err := value.Text(v); err == nil && v.Type() == cty.String {
		if model, count, ok := strings.Cut(text, ":"); ok {
			return fmt.Errorf("a number is needed, this is a string: write gpus = %s, and gpu { models = [%q] } for the model", count, strings.ToUpper(model))
		}
	}
	return setInt(n, v, 0)
}

func setInt(into *int, v cty.Value, least int) (err error) {
	*into, err = value.Integer(v, least)
	return err
}

func setSize(into *int64, v cty.Value) (err error) {
	*into, err = value.Size(v)
	return err
}

func setWalltime(into *time.Duration, v cty.Value) (err error) {
	if *into, err = value.Duration(v); err == nil && *into <= 0 {
		err = errors.New("a walltime is more than nothing")
	}
	return err
}

func setModels(into *[]string, v cty.Value) (err error) {
	*into, err = value.Texts(v)
	return err
}

// unused warns of options for a type of backend that the jobs never run on.
func (b *builder) unused(o *syntax.Block) {
	places := b.j.Candidates
	if b.j.Smoke != nil {
		places = append(slices.Clone(places), b.j.Smoke.Candidates...)
	}
	if len(b.j.Candidates) == 0 || slices.ContainsFunc(places, func(at string) bool { return strings.HasPrefix(at, o.Name()+".") }) {
		return
	}
	if _, known := b.schemas[o.Name()]; known {
		b.Perhaps.Warnat(o.Range, "Options that nothing reads", "phase.%s runs on %s; none of them is of type %s, so these options have no effect.", b.j.Phase, strings.Join(b.j.Candidates, ", "), o.Name())
	}
}

// options reads an options block against its provider's schema.
func (b *builder) options(o *syntax.Block) (ok bool) {
	kind := o.Name()
	schema, known := b.schemas[kind]
	if !known {
		b.Sure.Errorat(o.Syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", wording.Clip(kind), wording.DidYouMean(kind, slices.Sorted(maps.Keys(b.schemas))), b.set.KnownTypes())
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
				b.Sure.Errorat(o.Range, a.Name+" is missing", "options %q needs %s = …: %s", kind, a.Name, wording.Lower(a.Doc))
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
