package lang

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

// columns lists what a job's resources and options say.
func (l *loader) columns(p *phaseBuild, s *expr.Scope) (out []*column, base Request, ok bool) {
	ok = true
	base = Request{Shape: offer.Shape{CPUs: 1, Nodes: 1}}
	res := p.job.One("resources")
	add := func(b *syntax.Block, name string, set func(*Request, cty.Value) error) {
		e := b.Expr(name)
		if e == nil {
			return
		}
		p.ask(b == res, name, e.Range())
		t := l.template(p, s, e, "a resource")
		if ok = ok && t != nil; t != nil {
			out = append(out, &column{name: name, expr: e, t: t, set: set})
		}
	}
	add(res, "cpus", func(r *Request, v cty.Value) error { return setInt(&r.Shape.CPUs, v, 1) })
	add(res, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Memory, v) })
	add(res, "gpus", func(r *Request, v cty.Value) error { return setGPUs(&r.Shape.GPUs, v) })
	add(res, "disk", func(r *Request, v cty.Value) error { return setSize(&r.Shape.Disk, v) })
	add(res, "nodes", func(r *Request, v cty.Value) error { return setInt(&r.Shape.Nodes, v, 1) })
	add(res, "walltime", func(r *Request, v cty.Value) error { return setWalltime(&r.Shape.Walltime, v) })
	if gpu := res.One("gpu"); gpu != nil {
		if v, known := l.Peek(res.Expr("gpus"), nil); known && v.RawEquals(cty.Zero) {
			l.Sure.Errorat(gpu.Range, "A gpu block without GPUs", "gpu says what each GPU must be, and gpus = 0 asks for none. Take one of them out.")
		}
		if res.Expr("gpus") == nil {
			base.Shape.GPUs = 1
		}
		add(gpu, "models", func(r *Request, v cty.Value) error { return setModels(&r.Shape.GPU.Models, v) })
		add(gpu, "memory", func(r *Request, v cty.Value) error { return setSize(&r.Shape.GPU.Memory, v) })
	}
	for _, b := range p.job.All("options") {
		l.unusedOptions(p, b)
		more, good := l.optionColumns(p, s, b, &base)
		out, ok = append(out, more...), ok && good
	}
	return out, base, ok
}

// ask notes where a resource is written; those of a device are gpu.NAME.
func (p *phaseBuild) ask(plain bool, name string, at hcl.Range) {
	if !plain {
		name = "gpu." + name
	}
	if p.Asks == nil {
		p.Asks = map[string]hcl.Range{}
	}
	p.Asks[name] = at
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

// unusedOptions warns of options for a type of backend that the jobs never
// run on.
func (l *loader) unusedOptions(p *phaseBuild, b *syntax.Block) {
	places := p.Candidates
	if p.Smoke != nil {
		places = append(slices.Clone(places), p.Smoke.Candidates...)
	}
	if len(p.Candidates) == 0 || slices.ContainsFunc(places, func(at string) bool { return strings.HasPrefix(at, b.Name()+".") }) {
		return
	}
	if _, known := l.o.Schemas[b.Name()]; known {
		l.Perhaps.Warnat(b.Range, "Options that nothing reads", "phase.%s runs on %s; none of them is of type %s, so these options have no effect.", p.Name, strings.Join(p.Candidates, ", "), b.Name())
	}
}

// optionColumns reads an options block against its provider's schema.
func (l *loader) optionColumns(p *phaseBuild, s *expr.Scope, b *syntax.Block, base *Request) (out []*column, ok bool) {
	kind := b.Name()
	schema, known := l.o.Schemas[kind]
	if !known {
		l.Sure.Errorat(b.Syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", wording.Clip(kind), wording.DidYouMean(kind, slices.Sorted(maps.Keys(l.o.Schemas))), l.backends.KnownTypes())
		return nil, false
	}
	if base.Options == nil {
		base.Options = map[string]json.RawMessage{}
	}
	base.Options[kind] = value.Encode(l.Options(schema.Options, b.Syntax.Body, "options "+kind))
	ok = true
	for _, a := range schema.Options.Attrs {
		e := b.Expr(a.Name)
		if e == nil {
			if a.Required && !l.Broken {
				l.Sure.Errorat(b.Range, a.Name+" is missing", "options %q needs %s = …: %s", kind, a.Name, wording.Lower(a.Doc))
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
