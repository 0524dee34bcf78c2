package lang

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
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

// uniqueLabels tells labels that two jobs share.
func (l *loader) uniqueLabels() {
	var columns []*texts
	written := false
	for i, p := range l.order {
		if !p.ok || p.failed {
			continue
		}
		at := p.b.rng
		if e := p.job.expr("name"); e != nil {
			written, at = true, e.Range()
		}
		for _, q := range l.order[:i] { // phase a's "a-b=1" may be phase a-b's
			written = written || strings.HasPrefix(p.Name, q.Name+"-") || strings.HasPrefix(q.Name, p.Name+"-")
		}
		c, whole := newTexts(p, nil, p.Phase.job.label, at)
		if !whole {
			i, j := c.twins()
			l.sameLabel(c, i, c, j)
			continue
		}
		columns = append(columns, c)
	}
	if !written {
		return // without names, labels are made of phases and keys
	}
	set := newTextSet(columns)
	for _, c := range columns {
		set.add(c, func(text []byte, k int) bool { return l.goodLabel(c, text, k) }, func(d *texts, j, k int) bool {
			l.sameLabel(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// maxLabel bounds a label, in bytes: schedulers cut or refuse longer names.
const maxLabel = 200

func (l *loader) goodLabel(c *texts, text []byte, k int) bool {
	bad := ""
	switch {
	case len(text) == 0:
		bad = "is empty"
	case len(text) > maxLabel && c.p.Phase.job.label != nil:
		bad = fmt.Sprintf("has %d bytes, at most %d are taken", len(text), maxLabel)
	case bytes.ContainsAny(text, "\n\r\t\x00\x1b"):
		bad = "holds a control character"
	default:
		return true
	}
	l.ds.Append(diag.Diagnostic{Summary: "Invalid label", Detail: fmt.Sprintf("The label of %s %s.", c.p.Address(c.proj.First(k)), bad), Subject: c.at.Ptr(), Address: c.p.Address(c.proj.First(k))})
	return false
}

func (l *loader) sameLabel(c *texts, i int, d *texts, j int) {
	l.ds.Append(diag.Diagnostic{Summary: "Two jobs with one label", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s are both called %q. A label is accepted wherever an address is, so it must tell jobs apart: put the axes in which they differ into name.", c.p.Address(i), d.p.Address(j), clip(d.p.Label(j)))})
}

// uniquePaths tells output paths that two jobs on one filesystem would write,
// and paths that lead out of the workdir.
func (l *loader) uniquePaths() {
	var columns []*texts
	for _, p := range l.order {
		if !p.ok || p.failed {
			continue
		}
		for k, o := range p.Outputs {
			e := p.job.all("output")[k].expr(string(o.Kind))
			t := p.Phase.job.form[Run].outputs[k]
			if e == nil || t == nil {
				continue
			}
			c, whole := newTexts(p, o, t, e.Range())
			if !whole && !o.Shared {
				i, j := c.twins()
				l.samePath(c, i, c, j)
				continue
			}
			columns = append(columns, c)
		}
	}
	places := l.filesystems()
	set := newTextSet(columns)
	for _, c := range columns {
		set.add(c, func(text []byte, k int) bool { return l.goodPath(c, text, k) }, func(d *texts, j, k int) bool {
			if c.output.Shared && d.output.Shared || !meet(places[c.p], places[d.p]) {
				return true
			}
			l.samePath(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// goodPath holds paths to the workdir.
func (l *loader) goodPath(c *texts, text []byte, k int) bool {
	bad := ""
	switch {
	case len(text) == 0 || string(text) == ".":
		bad = "is the workdir itself"
	case text[0] == '/' || text[0] == '~':
		bad = "is absolute"
	case bytes.HasPrefix(text, []byte("..")) && (len(text) == 2 || text[2] == '/'):
		bad = "leads out of the workdir"
	case bytes.HasPrefix(text, []byte(".muster/")):
		bad = "lies in muster's own folder"
	case bytes.ContainsAny(text, "\n\r\x00"):
		bad = "holds a control character"
	default:
		return true
	}
	address := c.p.Address(c.proj.First(k))
	l.ds.Append(diag.Diagnostic{Summary: "Invalid output path", Subject: c.at.Ptr(), Address: address,
		Detail: fmt.Sprintf("The path %q of the output %q of %s %s. Output paths are relative to the workdir and lie below it.", clip(string(text)), c.output.Name, address, bad)})
	return false
}

func (l *loader) samePath(c *texts, i int, d *texts, j int) {
	text := plain(d.t, j)
	if c.p == d.p && i == j {
		l.ds.Append(diag.Diagnostic{Summary: "Two outputs with one path", Subject: d.at.Ptr(), Address: d.p.Address(j),
			Detail: fmt.Sprintf("The outputs %q and %q of %s are both %q.", c.output.Name, d.output.Name, d.p.Address(j), clip(text))})
		return
	}
	l.ds.Append(diag.Diagnostic{Summary: "Two jobs would write the same path", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s would both write %q. Put the axes in which they differ into the path; or, if the jobs are meant to share the file, write shared = true in the output.", c.p.Address(i), d.p.Address(j), clip(text))})
}

// filesystems are the workdirs that each phase's jobs may write to.
func (l *loader) filesystems() map[*phaseBuild]map[string]bool {
	out := map[*phaseBuild]map[string]bool{}
	for _, p := range l.order {
		set := map[string]bool{}
		for _, b := range l.c.Backends {
			if len(p.Candidates) == 0 || contains(p.Candidates, b.Address()) {
				set[l.filesystem(b)] = true
			}
		}
		out[p] = set
	}
	return out
}

// filesystem names the workdir of a backend, so that two backends with the
// same name for it see each other's files.
func (l *loader) filesystem(b *Backend) string {
	var c struct {
		SharedFS string `json:"shared_fs"`
	}
	_ = json.Unmarshal(b.Config, &c)
	switch {
	case b.Type == "local":
		return "local\x00" + below(l.c.Dir, l.workdir(b))
	case c.SharedFS != "":
		return "shared\x00" + c.SharedFS + "\x00" + l.workdir(b)
	}
	return b.Address()
}

func meet(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}
