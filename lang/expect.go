package lang

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/expr"
)

// expects compiles what a smoke expects, and the preconditions' like.
func (l *loader) expects(p *phaseBuild) {
	s := l.newScope(p, nil)
	s.Params = p.smoke.Params
	s.Symbols = map[string][]string{"metric": {}}
	if s.Grid == nil {
		s.Symbols["cell"] = nil
	}
	for _, m := range p.Metrics {
		s.Symbols["metric"] = append(s.Symbols["metric"], m.Name)
	}
	for _, b := range p.b.one("smoke").all("expect") {
		x := Expect{Message: l.text(b, "message"), Range: b.rng}
		e := b.expr("condition")
		if e == nil {
			continue
		}
		t, ds := expr.Compile(e, s)
		if !ds.HasErrors() && p.ok {
			ds.Append(t.Errors()...)
		}
		l.ds.Append(ds...)
		x.condition = t
		p.Smoke.Expect = append(p.Smoke.Expect, x)
	}
}

// CheckExpect evaluates the smoke's expectations over the metrics of one cell
// (name to JSON text). It returns a message for each that does not hold.
func (p *Phase) CheckExpect(i int, metrics map[string]string) []string {
	if p.Smoke == nil {
		return nil
	}
	var out []string
	for k := range p.Smoke.Expect {
		if msg := p.Smoke.Expect[k].check(i, metrics); msg != "" {
			out = append(out, msg)
		}
	}
	return out
}

func (x *Expect) check(i int, metrics map[string]string) string {
	for _, sym := range x.condition.Symbols() {
		if _, ok := metrics[sym.Name]; !ok && sym.Root == "metric" {
			return x.failed(fmt.Sprintf("%s was not read", sym))
		}
	}
	v, ds := x.condition.Render(i, func(root, name string) (cty.Value, bool) {
		if root != "metric" {
			return cty.NilVal, false
		}
		return jsonToValue(metrics[name]), true
	})
	if ds.HasErrors() {
		return x.failed(firstDetail(ds))
	}
	if v.Type() != cty.Bool || !v.IsKnown() || v.IsNull() {
		return x.failed("the condition is not true or false")
	}
	if v.True() {
		return ""
	}
	var found []string
	for _, sym := range x.condition.Symbols() {
		if sym.Root == "metric" {
			found = append(found, fmt.Sprintf("%s is %s", sym, clip(metrics[sym.Name])))
		}
	}
	return x.failed(strings.Join(found, ", "))
}

// failed is the message of an expectation that does not hold, and why.
func (x *Expect) failed(why string) string {
	msg := x.Message
	if msg == "" {
		msg = "expected " + x.condition.Source()
	}
	if why == "" {
		return msg
	}
	return msg + " (" + why + ")"
}

// jsonToValue is a JSON text as a value; what is not JSON is a string.
func jsonToValue(text string) cty.Value {
	data := []byte(text)
	if json.Valid(data) {
		if ty, err := ctyjson.ImpliedType(data); err == nil {
			if v, err := ctyjson.Unmarshal(data, ty); err == nil {
				if v, err := units.Canonical(v); err == nil {
					return v
				}
			}
		}
	}
	return cty.StringVal(text)
}

// preconditions compiles what must hold before anything is spent.
func (l *loader) preconditions(p *phaseBuild) {
	for _, b := range p.b.all("precondition") {
		q := Precondition{Message: l.text(b, "message"), MinSize: l.size(b, "min_size"), Range: b.rng}
		cond, file := b.expr("condition"), b.expr("file")
		switch {
		case cond != nil && file != nil:
			l.sure.Errorat(b.rng, "condition and file", "A precondition is a condition known at plan time, or a file on the backend. Write two blocks.")
			continue
		case cond != nil:
			if e := b.expr("min_size"); e != nil {
				l.wrong(e, "min_size", "min_size goes with file.")
			}
			q.condition = l.template(p, p.scope, cond, "a precondition")
		case file != nil:
			q.OnBackend = true
			q.file = l.template(p, p.scope, file, "a path")
		case !l.broken:
			l.sure.Errorat(b.rng, "A precondition needs a condition or a file", "Write condition = …, known at plan time, or file = \"…\", on the backend.")
			continue
		}
		if q.condition != nil || q.file != nil {
			p.Preconditions = append(p.Preconditions, q)
		}
	}
}

// CheckPreconditions evaluates the plan-time preconditions of a cell. One that
// reads no axis is told of the phase, in the same words for every cell.
func (p *Phase) CheckPreconditions(i int) diag.List {
	var ds diag.List
	for k := range p.Preconditions {
		q := &p.Preconditions[k]
		if q.condition == nil {
			continue
		}
		v, more := q.condition.Value(i)
		v, _ = v.Unmark()
		ok := !more.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool
		if ok && v.True() {
			continue
		}
		d := diag.Diagnostic{Summary: "A precondition does not hold", Detail: q.Message, Subject: q.condition.Range().Ptr(), Address: p.Address(i)}
		if len(q.condition.Axes()) == 0 {
			d.Address = "phase." + p.Name
		}
		switch {
		case more.HasErrors():
			d.Detail = strings.TrimSpace(d.Detail + " " + sentence(fmt.Errorf("%s", firstDetail(more))))
		case !ok:
			d.Detail = "The condition is not true or false."
		case d.Detail == "":
			d.Detail = fmt.Sprintf("%s is false for %s.", q.condition.Source(), d.Address)
		}
		ds.Append(d)
	}
	return ds
}
