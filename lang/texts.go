package lang

import (
	"bytes"
	"path"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A texts column is the text of one template for each combination of the axes it reads: the
// labels of a phase, or the paths of one output.
type texts struct {
	p      *phaseBuild
	output *Output // nil for labels
	t      *expr.Template
	proj   grid.Projection
	at     hcl.Range
}

// newTexts makes a column; whole is false when two cells have one combination.
func newTexts(p *phaseBuild, o *Output, t *expr.Template, at hcl.Range) (c *texts, whole bool) {
	c = &texts{p: p, output: o, t: t, at: at}
	var axes []int
	if t != nil {
		axes = t.Axes()
	} else {
		axes = firstCells(len(p.Grid.Axes))
	}
	c.proj = p.Grid.Project(axes)
	return c, c.proj.Len() == p.Len()
}

// Len and Append make the column one of a distinct.Set.
func (c *texts) Len() int { return c.proj.Len() }

// Append appends the k-th text; paths in their shortest form.
func (c *texts) Append(buf []byte, k int) []byte {
	cell := c.proj.First(k)
	if c.output == nil {
		return c.p.appendLabel(buf, cell)
	}
	start := len(buf)
	buf = c.t.AppendText(buf, cell)
	if s := buf[start:]; bytes.Contains(s, []byte("//")) || bytes.Contains(s, []byte("./")) || bytes.HasSuffix(s, []byte("/")) || bytes.HasSuffix(s, []byte("/.")) {
		buf = append(buf[:start], path.Clean(string(s))...)
	}
	return buf
}

// twins finds two cells with one combination.
func (c *texts) twins() (int, int) {
	seen := make([]int32, c.proj.Len())
	for i := range c.p.Len() {
		k := c.proj.Of(i)
		if seen[k] > 0 {
			return int(seen[k] - 1), i
		}
		seen[k] = int32(i + 1)
	}
	panic("muster: fewer combinations than cells, and all differ")
}
