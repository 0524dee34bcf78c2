package lang

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
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

// columns lists what a job's resources and options say.
func (l *loader) columns(p *phaseBuild, s *expr.Scope) (out []*column, base Request, ok bool) {
	ok = true
	base = Request{Shape: offer.Shape{CPUs: 1, Nodes: 1}}
	add := func(b *block, name string, set func(*Request, cty.Value) error) {
		e := b.expr(name)
		if e == nil {
			return
		}
		t := l.template(p, s, e, "a resource")
		if ok = ok && t != nil; t != nil {
			out = append(out, &column{name: name, expr: e, t: t, set: set})
		}
	}
	res := p.job.one("resources")
	add(res, "cpus", func(r *Request, v cty.Value) error { return setInt(&r.Shape.CPUs, v, 1) })
	add(res, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Memory, v) })
	add(res, "gpus", func(r *Request, v cty.Value) error { return setInt(&r.Shape.GPUs, v, 0) })
	add(res, "disk", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Disk, v) })
	add(res, "nodes", func(r *Request, v cty.Value) error { return setInt(&r.Shape.Nodes, v, 1) })
	add(res, "walltime", func(r *Request, v cty.Value) error { return setWalltime(&r.Shape.Walltime, v) })
	if gpu := res.one("gpu"); gpu != nil {
		if res.expr("gpus") == nil {
			base.Shape.GPUs = 1
		}
		add(gpu, "models", func(r *Request, v cty.Value) error { return setModels(&r.Shape.GPU.Models, v) })
		add(gpu, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.GPU.Memory, v) })
	}
	for _, b := range p.job.all("options") {
		more, good := l.optionColumns(p, s, b, &base)
		out, ok = append(out, more...), ok && good
	}
	return out, base, ok
}

func setInt(into *int, v cty.Value, least int) (err error) {
	*into, err = asInteger(v, least)
	return err
}

func setSize(into *int64, v cty.Value) (err error) {
	*into, err = asSize(v)
	return err
}

func setWalltime(into *time.Duration, v cty.Value) (err error) {
	if *into, err = asDuration(v); err == nil && *into <= 0 {
		err = errors.New("a walltime is more than nothing")
	}
	return err
}

func setModels(into *[]string, v cty.Value) (err error) {
	*into, err = asTexts(v)
	return err
}

// optionColumns reads an options block against its provider's schema.
func (l *loader) optionColumns(p *phaseBuild, s *expr.Scope, b *block, base *Request) (out []*column, ok bool) {
	kind := b.name()
	schema, known := l.o.Schemas[kind]
	if !known {
		l.sure.Errorat(b.syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", clip(kind), didYouMean(kind, sortedKeys(l.o.Schemas)), l.knownTypes())
		return nil, false
	}
	c := configReader{l: l}
	c.names(schema.Options, b.syntax.Body, "options "+kind, false)
	fixed := map[string]any{}
	for _, n := range schema.Options.Blocks {
		c.nested(n, b.syntax.Body, "options "+kind, "", fixed)
	}
	if base.Options == nil {
		base.Options = map[string]json.RawMessage{}
	}
	base.Options[kind] = jsonAny(fixed)
	ok = true
	for _, a := range schema.Options.Attrs {
		e := b.expr(a.Name)
		if e == nil {
			if a.Required && !l.broken {
				l.sure.Errorat(b.rng, a.Name+" is missing", "options %q needs %s = …: %s", kind, a.Name, lower(a.Doc))
			}
			continue
		}
		t := l.template(p, s, e, "an option")
		if ok = ok && t != nil; t == nil {
			continue
		}
		out = append(out, &column{name: a.Name, expr: e, t: t, set: func(r *Request, v cty.Value) error { return setOption(r, kind, a, v) }})
	}
	return out, ok
}

// setOption adds one attribute to a provider's options.
func setOption(r *Request, kind string, a offer.Attr, v cty.Value) error {
	out, err := convertTyped(a, v)
	if err != nil {
		return err
	}
	if s, isText := out.(string); isText && len(a.OneOf) > 0 && !contains(a.OneOf, s) {
		return fmt.Errorf("%q is not one of its values%s", clip(s), didYouMean(s, a.OneOf))
	}
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.Options[kind], &m); err != nil {
		return err
	}
	m[a.Name] = jsonAny(out)
	r.Options[kind] = jsonAny(m)
	return nil
}
