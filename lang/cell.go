package lang

import (
	"bytes"
	"encoding/binary"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// Variant is which form of a job is meant.
type Variant int

// The variants of a job.
const (
	Run      Variant = iota // also a pilot: a pilot is a real cell
	SmokeRun                // the same job with the smoke's params
)

// Len is the number of cells of the phase.
func (p *Phase) Len() int { return p.Grid.Len() }

// Key is the cell's identity text, `N=384,seed=42`; "" without a grid.
func (p *Phase) Key(i int) string { return p.Grid.Key(i) }

// AppendKey appends the cell's key.
func (p *Phase) AppendKey(buf []byte, i int) []byte { return p.Grid.AppendKey(buf, i) }

// Index finds a cell by key; its axes may come in any order.
func (p *Phase) Index(key string) (int, bool) { return p.Grid.Index(key) }

// Address is `phase.NAME["key"]`, or `phase.NAME` without a grid.
func (p *Phase) Address(i int) string { return string(p.AppendAddress(nil, i)) }

// AppendAddress appends the cell's address.
func (p *Phase) AppendAddress(buf []byte, i int) []byte {
	buf = append(append(buf, "phase."...), p.Name...)
	if len(p.Grid.Axes) == 0 {
		return buf
	}
	start := len(buf) + 2
	buf = p.Grid.AppendKey(append(buf, '[', '"'), i)
	if bytes.IndexByte(buf[start:], '"') < 0 && bytes.IndexByte(buf[start:], '\\') < 0 {
		return append(buf, '"', ']')
	}
	// A key with quotes in it is quoted as addresses are.
	return addr.Job{Phase: p.Name, Key: string(buf[start:])}.Append(buf[:start-len(p.Name)-len(`phase.["`)])
}

// Axes are the texts of a cell's axes by name, for records; nil without a grid.
func (p *Phase) Axes(i int) map[string]string {
	if len(p.Grid.Axes) == 0 {
		return nil
	}
	out := make(map[string]string, len(p.Grid.Axes))
	for a := range p.Grid.Axes {
		out[p.Grid.Axes[a].Name] = p.Grid.Value(i, a).Text
	}
	return out
}

// Label is the job's name as shown and used as the scheduler's job name.
func (p *Phase) Label(i int) string { return expr.Unescape(string(p.appendLabel(nil, i))) }

// appendLabel appends the label in its canonical text.
func (p *Phase) appendLabel(buf []byte, i int) []byte {
	if t := p.job.label; t != nil {
		return t.AppendText(buf, i)
	}
	buf = append(buf, p.Name...)
	if len(p.Grid.Axes) == 0 {
		return buf
	}
	return p.Grid.AppendKey(append(buf, '-'), i)
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
