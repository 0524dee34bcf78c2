package lang

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
)

// A View is from where an expression looks at a campaign. The zero value sees
// variables, locals, functions and phases without any result.
type View struct {
	Phase   *Phase // of the job; nil: of no job
	Cell    int
	Site    Target               // where the job would run
	Metrics map[string]string    // of the job: name to JSON text
	Results map[string]Completed // by phase
}

// Eval evaluates an expression as a block of the campaign would: with a job
// also cell, param, input, output, path, backend and metric. hidden says that
// a sensitive value went into it, so that it must not be shown.
func (c *Campaign) Eval(e hcl.Expression, v View) (val cty.Value, hidden bool, ds diag.List) {
	s := &expr.Scope{Static: c.static, Symbols: map[string][]string{"phase": {}}}
	for _, p := range c.Phases {
		s.Symbols["phase"] = append(s.Symbols["phase"], p.Name)
	}
	if v.Phase != nil {
		v.extend(s)
	}
	t, ds := expr.Compile(e, s)
	if ds.HasErrors() {
		return cty.DynamicVal, false, ds
	}
	val, more := t.Render(v.Cell, func(root, name string) (cty.Value, bool) { return c.seen(v, &ds, root, name) })
	ds.Append(more...)
	return val, len(t.Sensitive()) > 0, ds
}

// extend adds the names in a job's own expressions.
func (v View) extend(s *expr.Scope) {
	own := v.Phase.job.scope
	s.Grid, s.Params = own.Grid, own.Params
	maps.Copy(s.Symbols, own.Symbols)
	s.Symbols["metric"] = []string{}
	for _, m := range v.Phase.Metrics {
		s.Symbols["metric"] = append(s.Symbols["metric"], m.Name)
	}
}

// seen resolves names by the state or the job's place.
func (c *Campaign) seen(v View, ds *diag.List, root, name string) (cty.Value, bool) {
	switch {
	case root == "phase":
		for _, p := range c.Phases {
			if p.Name == name {
				return p.completed(v.Results[name]), true
			}
		}
	case v.Phase == nil:
	case root == "metric":
		if text, ok := v.Metrics[name]; ok {
			return value.Decode(text), true
		}
		return cty.NullVal(cty.DynamicPseudoType), true
	default:
		r := renderer{p: v.Phase, f: v.Phase.job.form[Run], cell: v.Cell, site: v.Site, ds: ds}
		return r.lookup(root, name)
	}
	return cty.NilVal, false
}
