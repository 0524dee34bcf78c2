package lang

import (
	"encoding/binary"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A hashedField is one of the parts that determine a job's result.
type hashedField struct {
	name  string
	t     *expr.Template
	axis  int    // with t nil: a repeat axis
	fixed []byte // the whole entry, when it is the same for every cell
	tail  []byte // the bytes after the text and its length
}

// hashedFields are the fields of one form of a job.
type hashedFields []hashedField

// fieldOf is the field of a template.
func fieldOf(name string, t *expr.Template) hashedField {
	f := hashedField{name: name, t: t, tail: fieldTail(name)}
	if len(t.Axes()) == 0 {
		f.fixed = f.append(nil, nil, 0)
	}
	return f
}

// fieldOfAxis is the field of a repeat axis, by its index in the grid.
func fieldOfAxis(name string, axis int) hashedField {
	return hashedField{name: name, axis: axis, tail: fieldTail(name)}
}

// Append appends the canonical text of a cell: a sequence of entries, each
// TEXT, its length (4 bytes), NAME and its length (2 bytes). Read from the
// end, it comes apart in one way. It allocates nothing beyond buf for plain
// templates.
func (l hashedFields) Append(buf []byte, g *grid.Grid, i int) []byte {
	for k := range l {
		buf = l[k].append(buf, g, i)
	}
	return buf
}

func (f *hashedField) append(buf []byte, g *grid.Grid, i int) []byte {
	if f.fixed != nil {
		return append(buf, f.fixed...)
	}
	start := len(buf)
	buf = f.text(buf, g, i)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(buf)-start))
	return append(buf, f.tail...)
}

func (f *hashedField) text(buf []byte, g *grid.Grid, i int) []byte {
	if f.t == nil {
		return append(buf, g.Value(i, f.axis).Text...)
	}
	return f.t.AppendText(buf, i)
}

func fieldTail(name string) []byte {
	return binary.BigEndian.AppendUint16([]byte(name), uint16(len(name)))
}

// A Field is one of the named parts that determine a result.
type Field struct{ Name, Text string }

// Texts is the content of Append by name.
func (l hashedFields) Texts(g *grid.Grid, i int) []Field {
	out := make([]Field, len(l))
	for k := range l {
		out[k] = Field{l[k].name, string(l[k].text(nil, g, i))}
	}
	return out
}

// Text is one field of a cell; false where there is none of that name.
func (l hashedFields) Text(name string, g *grid.Grid, i int) (string, bool) {
	for k := range l {
		if l[k].name == name {
			return string(l[k].text(nil, g, i)), true
		}
	}
	return "", false
}

// Axes are those, by index, that a field differs by.
func (l hashedFields) Axes(name string) []int {
	for k := range l {
		switch f := &l[k]; {
		case f.name != name:
		case f.t == nil:
			return []int{f.axis}
		default:
			return f.t.Axes()
		}
	}
	return nil
}
