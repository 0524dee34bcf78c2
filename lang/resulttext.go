package lang

import (
	"encoding/binary"
	"fmt"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A field is a part of what determines a job's result.
type field struct {
	name  string
	t     *expr.Template
	axis  int    // with t nil: a repeat axis
	fixed []byte // the whole entry, when it is the same for every cell
	tail  []byte // what follows the text and its length
}

// resultFields lists what determines the result, but for what lifecycle
// ignores: the command, setup, env and image, params that these read, and
// repeat axes.
func (l *loader) resultFields(p *phaseBuild, s *expr.Scope, f *form) {
	add := func(name string, t *expr.Template) {
		if t != nil && !p.Lifecycle.ignores(name) {
			f.result = append(f.result, newField(name, t))
		}
	}
	add("command", f.command)
	for k, t := range f.argv {
		add(fmt.Sprintf("command[%d]", k), t)
	}
	for _, e := range f.env {
		add("env."+e.name, e.t)
	}
	add("image", f.image)
	add("setup", f.setup)
	read := map[string]bool{}
	for _, t := range f.site() {
		for _, name := range t.Params() {
			read[name] = true
		}
	}
	for _, name := range sortedKeys(read) {
		if t, ds := expr.Compile(s.Params[name], s); !ds.HasErrors() {
			add("param."+name, t)
		}
	}
	for _, name := range p.Grid.Repeat {
		f.result = append(f.result, field{name: "axis." + name, axis: p.Grid.AxisIndex(name), tail: fieldTail("axis." + name)})
	}
}

func newField(name string, t *expr.Template) field {
	f := field{name: name, t: t, tail: fieldTail(name)}
	if len(t.Axes()) == 0 {
		f.fixed = f.append(nil, nil, 0)
	}
	return f
}

// AppendResult appends the canonical text of what determines the result of a
// cell, as written (not as placed): command, the job's setup and env, params
// that these read, image, repeat axes. Symbols and sensitive values stand in
// it by name. Two jobs that differ in any of it have different texts; the
// format of the file and the order of blocks and axes are not in it. It
// allocates nothing beyond buf for plain templates.
//
// The text is a sequence of entries, each TEXT, its length (4 bytes), NAME
// and its length (2 bytes): read from the end, it comes apart in one way.
func (p *Phase) AppendResult(buf []byte, i int, v Variant) []byte {
	fields := p.job.form[v].result
	for k := range fields {
		buf = fields[k].append(buf, p.Grid, i)
	}
	return buf
}

func (f *field) append(buf []byte, g *grid.Grid, i int) []byte {
	if f.fixed != nil {
		return append(buf, f.fixed...)
	}
	start := len(buf)
	buf = f.text(buf, g, i)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(buf)-start))
	return append(buf, f.tail...)
}

func (f *field) text(buf []byte, g *grid.Grid, i int) []byte {
	if f.t == nil {
		return append(buf, g.Value(i, f.axis).Text...)
	}
	return f.t.AppendText(buf, i)
}

func fieldTail(name string) []byte {
	return binary.BigEndian.AppendUint16([]byte(name), uint16(len(name)))
}

// A Field is one named part of what determines a result.
type Field struct{ Name, Text string }

// Fields is the content of AppendResult by name: "command", "command[0]" of a
// list, "env.OMP_NUM_THREADS", "param.steps", "axis.rep", "setup", "image".
func (p *Phase) Fields(i int, v Variant) []Field {
	fields := p.job.form[v].result
	out := make([]Field, len(fields))
	for k := range fields {
		out[k] = Field{fields[k].name, string(fields[k].text(nil, p.Grid, i))}
	}
	return out
}
