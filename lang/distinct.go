package lang

import (
	"bytes"
	"hash/maphash"
)

// A textColumn makes texts by number, as often as it is asked.
type textColumn interface {
	Len() int
	Append(buf []byte, k int) []byte
}

// A distinctSet finds equal texts among millions, at 12 bytes a text: at half load, with open
// addressing; texts are made again to tell a hash's chance twins apart.
type distinctSet struct {
	columns []textColumn
	base    []int // index of a column's first text among all
	seed    maphash.Seed
	hashes  []uint32
	refs    []uint32 // index of the text plus one; 0 is free
	mask    uint64
	a, b    []byte
}

// newDistinct returns an empty set with room for all texts of some columns.
func newDistinct(columns []textColumn) *distinctSet {
	n := 0
	base := make([]int, len(columns))
	for i, c := range columns {
		base[i] = n
		n += c.Len()
	}
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &distinctSet{columns: columns, base: base, seed: maphash.MakeSeed(), hashes: make([]uint32, size), refs: make([]uint32, size), mask: uint64(size - 1)}
}

// find is the column and the index in it of a text.
func (s *distinctSet) find(ref uint32) (column, k int) {
	lo, hi := 0, len(s.columns)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.base[mid] <= int(ref) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, int(ref) - s.base[lo]
}

// Add puts every text of a column into the set, until visit, which sees each,
// says no. equal is called for a text that is there already, the j-th of column
// d, and reports whether to go on.
func (s *distinctSet) Add(column int, visit func(text []byte, k int) bool, equal func(d, j, k int) bool) {
	c := s.columns[column]
	for k := range c.Len() {
		s.a = c.Append(s.a[:0], k)
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
			if s.b = s.columns[d].Append(s.b[:0], j); !bytes.Equal(s.a, s.b) {
				continue
			}
			if !equal(d, j, k) {
				return
			}
		}
		s.hashes[at], s.refs[at] = uint32(h>>32), uint32(s.base[column]+k)+1
	}
}
