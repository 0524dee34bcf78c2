package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A local is a named expression; it may use variables and other locals.
type local struct {
	name  string
	attr  *hclsyntax.Attribute
	reads []string // other locals
	value cty.Value
	state int8 // 0 not visited, 1 on the path, 2 done
	wrong bool // it, or one that it reads
}

// locals evaluates all locals of all files, each after those it reads.
func (l *variableReader) locals() {
	all := map[string]*local{}
	for _, b := range l.top.All("locals") {
		for _, c := range b.Syntax.Body.Blocks {
			l.Sure.Errorat(c.TypeRange, "A block among locals", "locals holds NAME = VALUE only.")
		}
		for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
			a := b.Attrs[name]
			if old := all[name]; old != nil {
				l.Sure.Errorat(a.NameRange, "Duplicate local", "local.%s is defined already at %s line %d. Give one of them another name.", name, old.attr.NameRange.Filename, old.attr.NameRange.Start.Line)
				continue
			}
			all[name] = &local{name: name, attr: a, value: cty.DynamicVal}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].reads = localsRead(all[name].attr.Expr)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l.local(all, all[name], nil)
	}
	vals := map[string]cty.Value{}
	for name, x := range all {
		vals[name] = x.value
	}
	l.Static.Variables["local"] = cty.ObjectVal(vals)
}

// localsRead lists the locals that an expression reads; "" for the bare name.
func localsRead(e hclsyntax.Expression) []string {
	seen := map[string]bool{}
	for _, t := range e.Variables() {
		if t.RootName() != "local" {
			continue
		}
		name := ""
		if len(t) > 1 {
			switch step := t[1].(type) {
			case hcl.TraverseAttr:
				name = step.Name
			case hcl.TraverseIndex:
				name, _ = value.Text(step.Key)
			}
		}
		seen[name] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// local evaluates one local after those it reads. path holds the locals that
// wait for it, outermost first.
func (l *variableReader) local(all map[string]*local, x *local, path []string) {
	path = append(path, x.name)
	x.state = 1
	ok := true
	vals := map[string]cty.Value{}
	for _, name := range x.reads {
		if name == "" {
			l.Sure.Errorat(x.attr.Expr.Range(), "A name is missing", "Write local.NAME: a local cannot read all locals, itself among them.")
			ok = false
			continue
		}
		dep := all[name]
		switch {
		case dep == nil:
			l.Perhaps.Errorat(x.attr.Expr.Range(), "Unknown local", "There is no local named %q%s", wording.Clip(name), wording.Known(name, slices.Sorted(maps.Keys(all)), "the locals are"))
			ok = false
			continue
		case dep.state == 1:
			l.localCycle(x, path, name)
			ok = false
			continue
		case dep.state == 0:
			l.local(all, dep, path)
		}
		vals[name] = dep.value
		x.wrong = x.wrong || dep.wrong
	}
	x.state = 2
	if !ok {
		x.wrong = true
		return
	}
	ctx := l.Static.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(vals)}
	v, ds := expr.Static(x.attr.Expr, ctx)
	if x.wrong { // told already, where it began
		ds = slices.DeleteFunc(ds, func(d diag.Diagnostic) bool { return d.Summary == expr.TooLarge })
	}
	if x.wrong = x.wrong || ds.HasErrors(); !x.wrong {
		x.value = v
	}
	l.Perhaps.Append(ds...)
}

func (l *variableReader) localCycle(x *local, path []string, back string) {
	for i, name := range path {
		if name == back {
			path = path[i:]
			break
		}
	}
	l.Sure.Errorat(x.attr.Range(), "A local refers to itself", "local.%s → local.%s. Break the circle by writing one of them out.", strings.Join(path, " → local."), back)
}
