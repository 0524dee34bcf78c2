package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// expects compiles the expectations of a smoke with the params of a scope.
func (cp *compiler) expects(p *phaseBuild, params *expr.Scope, blocks ...*syntax.Block) (out []Expect) {
	s := cp.newScope(p, nil)
	s.Params = params.Params
	s.Symbols = map[string][]string{"metric": {}}
	if s.Grid == nil {
		s.Symbols["cell"] = nil
	}
	for _, m := range p.Metrics {
		s.Symbols["metric"] = append(s.Symbols["metric"], m.Name)
	}
	var list []*syntax.Block
	for _, b := range blocks {
		list = append(list, b.All("expect")...)
	}
	for _, b := range list {
		x := Expect{Message: cp.Text(b, "message")}
		e := b.Expr("condition")
		if e == nil {
			continue
		}
		t, ds := expr.Compile(e, s)
		if !ds.HasErrors() && p.ok {
			ds.Append(t.Errors()...)
		}
		cp.Perhaps.Append(ds...)
		if x.condition = t; !ds.HasErrors() {
			for _, sym := range t.Symbols() {
				if sym.Root == "metric" {
					p.needs(sym.Name)
				}
			}
			cp.isCondition(p, t)
		}
		out = append(out, x)
	}
	return out
}

// needs notes that something reads a metric: a job without it has failed,
// unless its block says otherwise.
func (p *Phase) needs(metric string) {
	for i := range p.Metrics {
		if m := &p.Metrics[i]; m.Name == metric && !m.Stated {
			m.Required = true
		}
	}
}

// CheckExpect evaluates the expectations of a smoke, or of its canary, over the metrics
// of one cell (name to JSON text). It returns a message for each that does not hold.
func (p *Phase) CheckExpect(i int, v Variant, metrics map[string]string) []string {
	if p.Smoke == nil {
		return nil
	}
	expect := p.Smoke.Expect
	if v == CanaryRun {
		expect = p.Smoke.Canary.Expect
	}
	var out []string
	for k := range expect {
		if msg := expect[k].check(i, metrics); msg != "" {
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
		return value.Decode(metrics[name]), true
	})
	if ds.HasErrors() {
		return x.failed(wording.First(ds))
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
			found = append(found, fmt.Sprintf("%s is %s", sym, wording.Clip(metrics[sym.Name])))
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

// preconditions compiles the conditions that must hold before anything is spent.
func (cp *compiler) preconditions(p *phaseBuild) {
	for _, b := range p.b.All("precondition") {
		q := Precondition{Message: cp.Text(b, "message"), MinSize: cp.Size(b, "min_size")}
		given := 0
		for _, name := range []string{"condition", "file", "command"} {
			if b.Expr(name) != nil {
				given++
			}
		}
		switch cond, file, command := b.Expr("condition"), b.Expr("file"), b.Expr("command"); {
		case given > 1:
			cp.Sure.Errorat(b.Range, "A precondition with more than one check", "It is a condition known at plan time, a file on the backend, or a command on this machine. Write a block for each.")
			continue
		case file != nil:
			q.OnBackend = true
			q.file = cp.template(p, p.scope, file, "a path")
			cp.isFile(p, q.file)
		case cond != nil:
			q.condition = cp.template(p, p.scope, cond, "a precondition")
			cp.isCondition(p, q.condition)
		case command != nil:
			q.command = cp.template(p, p.scope, command, "a command")
		case !cp.Broken:
			cp.Sure.Errorat(b.Range, "A precondition without a check", "Write condition = …, known at plan time, file = \"…\", on the backend, or command = \"…\", on this machine.")
			continue
		}
		if e := b.Expr("min_size"); e != nil && !q.OnBackend {
			cp.Wrong(e, "min_size", "min_size goes with file.")
		}
		if q.condition != nil || q.file != nil || q.command != nil {
			p.Preconditions = append(p.Preconditions, q)
		}
	}
}

// isCondition reports a condition that is not true or false in the first cell.
func (cp *compiler) isCondition(p *phaseBuild, t *expr.Template) {
	if v, ok := cp.inFirstCell(p, t); ok && v.Type() != cty.Bool {
		cp.Sure.Errorat(t.Range(), "Invalid condition", "A condition is true or false, not %s.", wording.A(v))
	}
}

// isFile reports a path that is none in the first cell.
func (cp *compiler) isFile(p *phaseBuild, t *expr.Template) {
	v, ok := cp.inFirstCell(p, t)
	if !ok {
		return
	}
	switch text, err := value.Text(v); {
	case err != nil:
		cp.Sure.Errorat(t.Range(), "Invalid file", "%s", wording.Sentence(err))
	case strings.TrimSpace(text) == "":
		cp.Sure.Errorat(t.Range(), "Invalid file", "The path is empty: write a file on the backend, relative to the workdir.")
	}
}

// inFirstCell is the value of a template in the first cell, if it has one.
func (cp *compiler) inFirstCell(p *phaseBuild, t *expr.Template) (cty.Value, bool) {
	if t == nil || !p.ok || p.Len() == 0 || len(t.Symbols()) > 0 {
		return cty.NilVal, false
	}
	v, ds := t.Value(0)
	return v, !ds.HasErrors() && v.IsWhollyKnown()
}

// RunsHere reports whether a precondition is a command that runs on this machine.
func (q *Precondition) RunsHere() bool { return q.command != nil }

// Command is the command of a cell that must pass on this machine before its job starts.
func (q *Precondition) Command(i int) (string, diag.List) {
	v, more := q.command.Value(i)
	v, _ = v.UnmarkDeep()
	text, err := value.Text(v)
	if more.HasErrors() || err != nil {
		return "", diag.List{{Summary: "A precondition's command cannot be evaluated", Detail: wording.First(more), Subject: q.Range().Ptr()}}
	}
	return text, nil
}

// Range is where the command is written.
func (q *Precondition) Range() hcl.Range { return q.command.Range() }

// CheckPreconditions evaluates the plan-time preconditions of a cell. One that
// reads no axis is reported for the phase, in the same words for every cell.
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
			d.Detail = strings.TrimSpace(d.Detail + " " + wording.Sentence(fmt.Errorf("%s", wording.First(more))))
		case !ok:
			d.Detail = "The condition is not true or false."
		case d.Detail == "":
			d.Detail = fmt.Sprintf("%s is false for %s.", q.condition.Source(), d.Address)
		}
		ds.Append(d)
	}
	return ds
}
