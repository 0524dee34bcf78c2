package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/expr"
)

// A local is a named expression; it may use variables and other locals.
type local struct {
	name  string
	attr  *hclsyntax.Attribute
	reads []string // other locals
	value cty.Value
	state int8 // 0 not visited, 1 on the path, 2 done
}

// locals evaluates all locals of all files, each after those it reads.
func (l *loader) locals() {
	all := map[string]*local{}
	for _, b := range l.top.all("locals") {
		for _, c := range b.syntax.Body.Blocks {
			l.sure.Errorat(c.TypeRange, "A block among locals", "locals holds NAME = VALUE only.")
		}
		for _, name := range sortedKeys(b.attrs) {
			a := b.attrs[name]
			if old := all[name]; old != nil {
				l.sure.Errorat(a.NameRange, "Duplicate local", "local.%s is defined already at %s line %d. Give one of them another name.", name, old.attr.NameRange.Filename, old.attr.NameRange.Start.Line)
				continue
			}
			all[name] = &local{name: name, attr: a, value: cty.DynamicVal}
		}
	}
	for _, name := range sortedKeys(all) {
		all[name].reads = localsRead(all[name].attr.Expr)
	}
	for _, name := range sortedKeys(all) {
		l.local(all, all[name], nil)
	}
	vals := map[string]cty.Value{}
	for name, x := range all {
		vals[name] = x.value
	}
	l.static.Variables["local"] = cty.ObjectVal(vals)
	l.validations()
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
				name, _ = asText(step.Key)
			}
		}
		seen[name] = true
	}
	return sortedKeys(seen)
}

// local evaluates one local after those it reads. path holds the locals that
// wait for it, outermost first.
func (l *loader) local(all map[string]*local, x *local, path []string) {
	path = append(path, x.name)
	x.state = 1
	ok := true
	vals := map[string]cty.Value{}
	for _, name := range x.reads {
		if name == "" {
			l.sure.Errorat(x.attr.Expr.Range(), "A name is missing", "Write local.NAME: a local cannot read all locals, itself among them.")
			ok = false
			continue
		}
		dep := all[name]
		switch {
		case dep == nil:
			l.ds.Errorat(x.attr.Expr.Range(), "Unknown local", "There is no local named %q%s", clip(name), didYouMean(name, sortedKeys(all)))
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
	}
	x.state = 2
	if !ok {
		return
	}
	ctx := l.static.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(vals)}
	t, ds := expr.Compile(x.attr.Expr, &expr.Scope{Static: ctx})
	if !ds.HasErrors() {
		v, late := t.Value(0)
		ds.Append(late...)
		if !ds.HasErrors() {
			x.value = v
		}
	}
	l.ds.Append(ds...)
}

func (l *loader) localCycle(x *local, path []string, back string) {
	for i, name := range path {
		if name == back {
			path = path[i:]
			break
		}
	}
	l.sure.Errorat(x.attr.Range(), "A local refers to itself", "local.%s → local.%s. Break the circle by writing one of them out.", strings.Join(path, " → local."), back)
}
