package grid

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
)

// maxWhereErrors is how many combinations are reported when a where fails.
const maxWhereErrors = 3

// filter sets the grid to the cells of the product that all predicates keep.
func (e *expansion) filter() {
	e.g.n = e.product
	e.g.finish()
	if len(e.spec.Where) == 0 || e.product == 0 {
		return
	}
	var preds []memo
	for _, p := range e.spec.Where {
		if m, ok := e.memo(p); ok {
			preds = append(preds, m)
		}
	}
	if e.ds.HasErrors() {
		return
	}
	codes := make([]uint64, 0, e.product/4)
	for i := range e.product {
		keep := true
		for k := range preds {
			if keep = preds[k].keep(e, i); !keep {
				break
			}
		}
		if keep {
			codes = append(codes, uint64(i))
		}
		if len(e.ds) >= maxWhereErrors {
			return
		}
	}
	e.setCodes(codes)
}

// setCodes makes the grid sparse, unless all cells are there.
func (e *expansion) setCodes(codes []uint64) {
	if len(codes) == e.product {
		return
	}
	e.g.n, e.g.codes = len(codes), slices.Clip(codes)
	if e.g.codes == nil {
		e.g.codes = []uint64{}
	}
}

// A memo remembers a predicate per combination of the axes it reads.
type memo struct {
	p      Predicate
	proj   Projection
	known  []int8 // 0 not asked, 1 keep, -1 drop
	values []*Value
}

func (e *expansion) memo(p Predicate) (memo, bool) {
	var axes []int
	for _, name := range p.Axes {
		a := e.g.AxisIndex(name)
		if a < 0 {
			e.errorf(e.spec.At.Where, "No such axis", "where reads the axis %q, which %s does not have%s", name, e.name(), didYouMean(name, e.g.AxisNames()))
			return memo{}, false
		}
		axes = append(axes, a)
	}
	m := memo{p: p, proj: e.g.Project(axes), values: make([]*Value, len(axes))}
	m.known = make([]int8, m.proj.Len())
	return m, true
}

func (m *memo) keep(e *expansion, i int) bool {
	c := m.proj.Of(i)
	if m.known[c] == 0 {
		for k, a := range m.proj.axes {
			m.values[k] = e.g.Value(i, a)
		}
		keep, ds := m.p.Keep(m.values)
		e.ds = append(e.ds, ds...)
		m.known[c] = -1
		if keep && !ds.HasErrors() {
			m.known[c] = 1
		}
	}
	return m.known[c] > 0
}

// A Sample keeps Count cells of a grid.
type Sample struct {
	Count int
	Seed  int64
}

// sample keeps the cells with the smallest hash of seed and key. A cell's
// hash depends on nothing else, so a longer axis brings new cells in without
// reshuffling the rest.
func (e *expansion) sample() {
	s := e.spec.Sample
	if s == nil {
		return
	}
	if s.Count < 0 {
		e.errorf(e.spec.At.Sample, "Invalid sample", "sample of %s asks for %d cells.", e.name(), s.Count)
		return
	}
	if s.Count >= e.g.n {
		if s.Count > e.g.n {
			e.ds.Append(e.at(e.spec.At.Sample, diag.Warning, "The sample is larger than the grid", fmt.Sprintf("sample asks for %d cells, and %s has %d; all are kept.", s.Count, e.name(), e.g.n)))
		}
		return
	}
	best := make(tickets, 0, s.Count)
	var buf []byte
	for i := range e.g.n {
		buf = binary.BigEndian.AppendUint64(buf[:0], uint64(s.Seed))
		buf = e.g.AppendKey(buf, i)
		sum := sha256.Sum256(buf)
		best.offer(ticket{binary.BigEndian.Uint64(sum[:]), i}, s.Count)
	}
	codes := make([]uint64, len(best))
	for k, t := range best {
		codes[k] = uint64(t.cell)
		if e.g.codes != nil {
			codes[k] = e.g.codes[t.cell]
		}
	}
	slices.Sort(codes)
	e.setCodes(codes)
}

type ticket struct {
	hash uint64
	cell int
}

// tickets is a heap with the greatest hash on top.
type tickets []ticket

func (t tickets) Len() int { return len(t) }
func (t tickets) Less(a, b int) bool {
	return t[a].hash > t[b].hash || t[a].hash == t[b].hash && t[a].cell > t[b].cell
}
func (t tickets) Swap(a, b int) { t[a], t[b] = t[b], t[a] }
func (t *tickets) Push(x any)   { *t = append(*t, x.(ticket)) }
func (t *tickets) Pop() any     { panic("muster: tickets are replaced, never popped") }

func (t *tickets) offer(x ticket, most int) {
	if len(*t) < most {
		heap.Push(t, x)
		return
	}
	if most > 0 && x.hash < (*t)[0].hash {
		(*t)[0] = x
		heap.Fix(t, 0)
	}
}
