package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A resultReader reads result blocks and checks their references.
type resultReader struct{ *phases }

func (rr resultReader) read(blocks []*syntax.Block) (out []*Result) {
	for _, b := range blocks {
		e := b.Expr("value")
		if e == nil {
			continue
		}
		r := &Result{Name: b.Name(), Description: rr.Text(b, "description")}
		good := true
		for _, t := range e.Variables() {
			if t.RootName() == "phase" {
				good = rr.resultRead(r, t) && good
			}
		}
		if good = good && rr.spreadsLists(e); good {
			t, ds := expr.Compile(e, &expr.Scope{Static: rr.Static, Symbols: map[string][]string{"phase": slices.Sorted(maps.Keys(rr.byName))}})
			rr.Perhaps.Append(ds...)
			r.value = t
			if !ds.HasErrors() {
				for _, sym := range t.Sensitive() {
					rr.Sure.Errorat(sym.Range, "A sensitive value in a result", "%s is sensitive, and a result is shown.", sym)
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// spreadsLists checks the value that a call spreads over its arguments with three
// dots: a map of metrics or outputs has keys, too.
func (rr resultReader) spreadsLists(e hcl.Expression) (good bool) {
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return true
	}
	good = true
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || !call.ExpandFinal || len(call.Args) == 0 {
			return nil
		}
		last, ok := call.Args[len(call.Args)-1].(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			return nil
		}
		if parts := value.Names(last.Traversal); len(parts) == 4 && parts[0] == "phase" && rr.byName[parts[1]] != nil && len(rr.byName[parts[1]].Grid.Axes) > 0 {
			name := strings.Join(parts, ".")
			rr.Sure.Errorat(last.SrcRange, "A map where a list belongs", "%s is a map from key to value, and ... spreads a list. Write values(%s)...", name, name)
			good = false
		}
		return nil
	})
	return good
}

// resultRead checks phase.X.metric.M and phase.X.output.O.
func (rr resultReader) resultRead(r *Result, t hcl.Traversal) bool {
	parts := make([]string, 0, 4)
	for _, s := range t[:min(len(t), 4)] {
		if names := value.Names(hcl.Traversal{s}); len(names) == 1 {
			parts = append(parts, names[0])
		}
	}
	if len(parts) < 4 || parts[2] != "metric" && parts[2] != "output" {
		rr.Sure.Errorat(t.SourceRange(), "Neither a metric nor an output", "A result reads phase.NAME.metric.M and phase.NAME.output.O%s", rr.readable(parts))
		return false
	}
	p := rr.byName[parts[1]]
	if p == nil {
		rr.unknownPhase(parts[1], t.SourceRange())
		return false
	}
	var known []string
	if parts[2] == "metric" {
		for _, m := range p.Metrics {
			known = append(known, m.Name)
		}
	} else {
		for _, o := range p.Outputs {
			known = append(known, o.Name)
		}
	}
	if !slices.Contains(known, parts[3]) {
		rr.Perhaps.Errorat(t.SourceRange(), "Unknown "+parts[2], "phase.%s has no %s %q%s", p.Name, parts[2], wording.Clip(parts[3]), wording.DidYouMean(parts[3], known))
		return false
	}
	if parts[2] == "metric" {
		p.needs(parts[3])
		if m := (phaseMetric{p.Phase, parts[3]}); !slices.Contains(r.metrics, m) {
			r.metrics = append(r.metrics, m)
		}
	}
	for _, q := range r.reads {
		if q == p.Phase {
			return true
		}
	}
	r.reads = append(r.reads, p.Phase)
	return true
}

// readable says what a result could read of the phase it names.
func (rr resultReader) readable(parts []string) string {
	if len(parts) < 2 || rr.byName[parts[1]] == nil {
		return "."
	}
	var there []string
	p := rr.byName[parts[1]]
	for _, m := range p.Metrics {
		there = append(there, "phase."+p.Name+".metric."+m.Name)
	}
	for _, o := range p.Outputs {
		there = append(there, "phase."+p.Name+".output."+o.Name)
	}
	if len(there) == 0 {
		return fmt.Sprintf("; phase.%s has neither.", p.Name)
	}
	s := ": " + strings.Join(there, ", ") + "."
	if len(p.Grid.Axes) > 0 {
		s += " Each is a map by key; one job's value is phase.NAME.metric.M[\"KEY\"]."
	}
	return s
}

// Completed has the metrics and outputs of a phase's completed jobs.
type Completed struct {
	Metrics map[string]map[string]string // metric to key to JSON text
	Outputs map[string]map[string]string // output to key to path
	Done    int
	Total   int
}

// A ResultValue is a result as far as it is known.
type ResultValue struct {
	Name  string
	Known bool // every job it reads is done
	Done  int
	Total int
	JSON  string // the value; "" when it is not known or failed
	Error string // why it could not be computed
	Lacks string // which metrics that it reads have no value in some jobs, in words
}

// EvalResults computes the results of the campaign over completed jobs. A
// result is known when all jobs of the phases it reads are done; one that
// cannot be computed says why, and fails nothing.
func (c *Campaign) EvalResults(byPhase map[string]Completed) []ResultValue {
	out := make([]ResultValue, 0, len(c.Results))
	for _, r := range c.Results {
		v := ResultValue{Name: r.Name}
		for _, p := range r.reads {
			v.Done += byPhase[p.Name].Done
			v.Total += p.Len()
		}
		if v.Known = v.Done >= v.Total; v.Known {
			v.JSON, v.Error = r.eval(byPhase)
			if v.Lacks = r.lacks(byPhase); v.Lacks != "" && v.Error != "" {
				v.Error = v.Lacks
			}
		}
		out = append(out, v)
	}
	return out
}

// lacks says which metrics have no value in completed jobs: those that diverged wrote
// NaN.
func (r *Result) lacks(byPhase map[string]Completed) string {
	var out []string
	for _, m := range r.metrics {
		done := byPhase[m.phase.Name]
		if n := done.Done - len(done.Metrics[m.name]); n > 0 {
			out = append(out, fmt.Sprintf("metric %s of phase.%s has no value in %d of %s", m.name, m.phase.Name, n, units.Count(done.Done, "job")))
		}
	}
	return strings.Join(out, "; ")
}

func (r *Result) eval(byPhase map[string]Completed) (text, problem string) {
	v, ds := r.value.Render(0, func(root, name string) (cty.Value, bool) {
		for _, p := range r.reads {
			if p.Name == name && root == "phase" {
				return p.completed(byPhase[name]), true
			}
		}
		return cty.NilVal, false
	})
	if ds.HasErrors() {
		return "", wording.First(ds)
	}
	return string(value.JSON(v)), ""
}

// completed is phase.NAME in a result.
func (p *Phase) completed(c Completed) cty.Value {
	metrics, outputs := map[string]cty.Value{}, map[string]cty.Value{}
	for _, m := range p.Metrics {
		metrics[m.Name] = p.byKey(c.Metrics[m.Name], value.Decode)
	}
	for _, o := range p.Outputs {
		outputs[o.Name] = p.byKey(c.Outputs[o.Name], cty.StringVal)
	}
	return cty.ObjectVal(map[string]cty.Value{"metric": cty.ObjectVal(metrics), "output": cty.ObjectVal(outputs)})
}

// byKey is a map from key to value, or the bare value without a grid.
func (p *Phase) byKey(texts map[string]string, value func(string) cty.Value) cty.Value {
	if len(p.Grid.Axes) == 0 {
		for _, text := range texts {
			return value(text)
		}
		return cty.NullVal(cty.DynamicPseudoType)
	}
	vals := make(map[string]cty.Value, len(texts))
	var ty cty.Type
	same := true
	for key, text := range texts {
		v := value(text)
		same = same && (ty == cty.NilType || ty.Equals(v.Type()))
		ty = v.Type()
		vals[key] = v
	}
	if same && len(vals) > 0 {
		return cty.MapVal(vals)
	}
	return cty.ObjectVal(vals)
}
