package lang

import (
	"bytes"
	"hash/maphash"
	"path"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A texts column is what one template says for each combination of the
// axes it reads: the labels of a phase, or the paths of one output.
type texts struct {
	p      *phaseBuild
	output *Output // nil for labels
	t      *expr.Template
	proj   grid.Projection
	base   int // index of its first text among all columns'
	at     hcl.Range
}

// newTexts makes a column; whole is false when two cells have one combination.
func newTexts(p *phaseBuild, o *Output, t *expr.Template, at hcl.Range) (c *texts, whole bool) {
	c = &texts{p: p, output: o, t: t, at: at}
	var axes []int
	if t != nil {
		axes = t.Axes()
	} else {
		axes = upTo(len(p.Grid.Axes))
	}
	c.proj = p.Grid.Project(axes)
	return c, c.proj.Len() == p.Len()
}

// append appends the k-th text; paths in their shortest form.
func (c *texts) append(buf []byte, k int) []byte {
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

// A textSet finds equal texts among many columns: 12 bytes a text at half
// load, open addressing, texts made again to tell a hash's chance twins apart.
type textSet struct {
	columns []*texts
	seed    maphash.Seed
	hashes  []uint32
	refs    []uint32 // index of the text plus one; 0 is free
	mask    uint64
	a, b    []byte
}

func newTextSet(columns []*texts) *textSet {
	n := 0
	for _, c := range columns {
		c.base = n
		n += c.proj.Len()
	}
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &textSet{columns: columns, seed: maphash.MakeSeed(), hashes: make([]uint32, size), refs: make([]uint32, size), mask: uint64(size - 1)}
}

// find is the column and the index in it of a text.
func (s *textSet) find(ref uint32) (*texts, int) {
	lo, hi := 0, len(s.columns)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.columns[mid].base <= int(ref) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return s.columns[lo], int(ref) - s.columns[lo].base
}

// add puts every text of a column into the set. visit sees each text; equal
// is told of a text that is there already, and reports whether to keep both.
func (s *textSet) add(c *texts, visit func(text []byte, k int) bool, equal func(d *texts, j, k int) bool) {
	for k := range c.proj.Len() {
		s.a = c.append(s.a[:0], k)
		if !visit(s.a, k) {
			return
		}
		h := maphash.Bytes(s.seed, s.a)
		at := h & s.mask
		for ; s.refs[at] != 0; at = (at + 1) & s.mask {
			if s.hashes[at] != uint32(h>>32) {
				continue
			}
			d, j := s.find(s.refs[at] - 1)
			if s.b = d.append(s.b[:0], j); !bytes.Equal(s.a, s.b) {
				continue
			}
			if !equal(d, j, k) {
				return
			}
		}
		s.hashes[at], s.refs[at] = uint32(h>>32), uint32(c.base+k)+1
	}
}
