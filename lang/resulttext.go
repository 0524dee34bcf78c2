package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/schema"
)

// byName are the indices of schema.Rendered in order of name, in which they are
// hashed.
var byName = func() []int {
	out := make([]int, len(schema.Rendered))
	for k := range out {
		out[k] = k
	}
	slices.SortFunc(out, func(a, b int) int { return strings.Compare(schema.Rendered[a].Name, schema.Rendered[b].Name) })
	return out
}()

// resultFields lists the parts that determine the result, without those that
// lifecycle ignores: the command, setup, env and image, params that these
// read, and repeat axes.
func resultFields(p *phaseBuild, s *expr.Scope, f *form) {
	add := func(name string, t *expr.Template) {
		if t != nil && !p.Lifecycle.Ignores(name) {
			f.result = append(f.result, fieldOf(name, t))
		}
	}
	add("command", f.command)
	for k, t := range f.argv {
		add(fmt.Sprintf("command[%d]", k), t)
	}
	for _, e := range f.env {
		add("env."+e.name, e.t)
	}
	templates := slices.Concat([]*expr.Template{f.command}, f.argv)
	for _, e := range f.env {
		templates = append(templates, e.t)
	}
	for _, k := range byName {
		if schema.Rendered[k].Hash == schema.InResult {
			add(schema.Rendered[k].Name, f.rendered[k])
			templates = append(templates, f.rendered[k])
		}
	}
	read := map[string]bool{}
	for _, t := range slices.DeleteFunc(templates, func(t *expr.Template) bool { return t == nil }) {
		for _, name := range t.Params() {
			read[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if t, ds := expr.Compile(s.Params[name], s); !ds.HasErrors() {
			add("param."+name, t)
		}
	}
	for _, name := range p.Grid.Repeat {
		f.result = append(f.result, fieldOfAxis("axis."+name, p.Grid.AxisIndex(name)))
	}
}

// AppendResult appends the canonical text of the parts that determine the
// result of a cell, as written (not as placed): command, the job's setup and
// env, params that these read, image, repeat axes. Symbols and sensitive
// values are in it by name. Two jobs that differ in any of it have different
// texts; the format of the file and the order of blocks and axes are not in
// it. It allocates nothing beyond buf for plain templates.
func (p *Phase) AppendResult(buf []byte, i int, v Variant) []byte {
	return p.job.form[v].result.Append(buf, p.Grid, i)
}

// Fields is the content of AppendResult by name: "command", "command[0]" of a
// list, "env.OMP_NUM_THREADS", "param.steps", "axis.rep", "setup", "image".
func (p *Phase) Fields(i int, v Variant) []Field { return p.job.form[v].result.Texts(p.Grid, i) }

// Field is the text of one of Fields of a run; false where there is none of that name.
func (p *Phase) Field(i int, name string) (string, bool) {
	return p.job.form[Run].result.Text(name, p.Grid, i)
}

// FieldAxes are the axes, by index, that one of Fields of a run differs by.
func (p *Phase) FieldAxes(name string) []int { return p.job.form[Run].result.Axes(name) }
