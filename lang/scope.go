package lang

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/wording"
)

// pathNames and backendNames are the names under path.* and backend.* in a
// job.
var (
	pathNames    = []string{"source", "workdir"}
	backendAttrs = []string{"address", "cpus", "gpus", "name", "pool", "type"}
)

// newScope returns the scope of a job's expressions.
func (cp *compiler) newScope(p *phaseBuild, params []decode.Entry) *expr.Scope {
	s := &expr.Scope{Grid: p.Grid, Static: cp.Static, Params: map[string]hcl.Expression{}, Symbols: map[string][]string{
		"input": {}, "input_file": {}, "output": {}, "path": pathNames, "backend": backendAttrs,
	}}
	for _, in := range p.job.All("input") {
		s.Symbols["input"] = append(s.Symbols["input"], in.Name())
	}
	s.Symbols["input_file"] = s.Symbols["input"]
	for _, o := range p.Outputs {
		s.Symbols["output"] = append(s.Symbols["output"], o.Name)
	}
	if names := p.jobNames(p.job.Expr("launcher") != nil); len(names) > 0 {
		s.Symbols["job"] = names
	}
	if p.Checkpoint != nil {
		s.Symbols["checkpoint"] = []string{}
	}
	if !p.expanded {
		s.Grid, s.Symbols["cell"] = nil, nil
	}
	for _, e := range params {
		s.Params[e.Name] = e.Value
	}
	return s
}

// smokeScope has a smoke's own params in place of the run's.
func (cp *compiler) smokeScope(p *phaseBuild, own []decode.Entry) *expr.Scope {
	merged := map[string]decode.Entry{}
	var known []string
	for _, e := range p.params {
		merged[e.Name] = e
		known = append(known, e.Name)
	}
	for _, e := range own {
		if _, ok := merged[e.Name]; !ok {
			cp.Perhaps.Errorat(e.At, "Unknown param", "A smoke changes params that the phase has; there is no param %q%s", wording.Clip(e.Name), wording.DidYouMean(e.Name, known))
			continue
		}
		merged[e.Name] = e
	}
	if len(own) == 0 {
		return p.scope
	}
	s := cp.newScope(p, slices.Collect(maps.Values(merged)))
	cp.params(p, s)
	return s
}

// params compiles every param, so that errors in unread ones are reported, too.
func (cp *compiler) params(p *phaseBuild, s *expr.Scope) {
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		t, ds := expr.Compile(s.Params[name], s)
		if !ds.HasErrors() && p.ok {
			ds.Append(t.Errors()...)
		}
		cp.Perhaps.Append(ds...)
	}
}
