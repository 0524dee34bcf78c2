package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// A Past is the completed jobs of a phase, and what determined their work: the
// axes, and the numbers and params of definitions that have changed since.
type Past struct {
	phase   *lang.Phase
	records []*state.Job // by cell; nil where one has none
	cells   []int        // of completed jobs that count
	dims    []*dim
	axes    []int  // that some dim follows, ascending
	mean    []bool // of cells, those with the present definition; nil = a mean over all
}

// A dim is something that determines how much work a job has.
type dim struct {
	name   string
	axis   int    // of the grid; -1 = it is a field
	field  string // of the definition
	token  int    // of the field's text, counted from 0; -1 = all of it
	values []mark // of the completed jobs, in their order
	seen   reach  // of those over which a mean is taken
	all    reach
}

// A mark is a value of a dim.
type mark struct {
	text string
	num  float64 // where number
	is   bool    // a number, not below zero
}

func markOf(text string) mark {
	v, err := strconv.ParseFloat(text, 64)
	return mark{text: text, num: v, is: err == nil && v >= 0 && !math.IsInf(v, 0)}
}

func (m mark) String() string {
	if m.is && m.num == math.Trunc(m.num) && m.num < 1e15 {
		return units.FormatCount(int64(m.num))
	}
	return m.text
}

// PastOf gathers the completed jobs of a phase. definitions are those of the state, by digest:
// a job counts for the definition with which it ran.
func PastOf(p *lang.Phase, records []*state.Job, definitions map[string]json.RawMessage) *Past {
	h := &Past{phase: p, records: records, cells: completed(p, records)}
	for a, axis := range p.Grid.Axes {
		if !index(p, a) {
			h.dims = append(h.dims, &dim{name: axis.Name, axis: a, token: -1})
		}
	}
	h.rewritten(definitions)
	for _, d := range h.dims {
		if d.axis >= 0 {
			for _, cell := range h.cells {
				d.values = append(d.values, d.of(p, cell))
			}
		}
		d.all = reachOf(d.values, nil)
		d.seen = reachOf(d.values, h.mean)
		for _, a := range d.follows(p) {
			if at, has := slices.BinarySearch(h.axes, a); !has {
				h.axes = slices.Insert(h.axes, at, a)
			}
		}
	}
	return h
}

// follows are the axes by which the values of a dim differ.
func (d *dim) follows(p *lang.Phase) []int {
	if d.axis >= 0 {
		return []int{d.axis}
	}
	return p.FieldAxes(d.field)
}

// index reports whether an axis only tells jobs apart: a repeat, a seed, or a count
// written as range(…).
func index(p *lang.Phase, axis int) bool {
	a := p.Grid.Axes[axis]
	if slices.Contains(p.Grid.Repeat, a.Name) || seedlike(a.Name) {
		return true
	}
	for k := 1; k < len(a.Values); k++ {
		if !a.Values[k].IsNum || a.Values[k].Num != a.Values[k-1].Num+1 {
			return false
		}
	}
	return a.Counts
}

// seedlike reports whether a name is that of a parameter which only tells runs
// apart.
func seedlike(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	for _, word := range strings.Split(name, "_") {
		switch word {
		case "seed", "seeds", "rngseed", "rep", "repeat", "replicate", "replica", "trial", "fold", "index", "idx":
			return true
		}
	}
	return name == "random_state"
}

// rewritten adds the differences between a job's definition and its cell now.
// Where definitions differ, at most mostPoints jobs count.
func (h *Past) rewritten(definitions map[string]json.RawMessage) {
	other := func(cell int) bool {
		at := h.records[cell].Definition
		return definitions[at] != nil && at != h.phase.Definition().Digest
	}
	if !slices.ContainsFunc(h.cells, other) {
		return
	}
	h.cells = sampled(h.cells)
	was := make([]map[string]mark, len(h.cells))
	current := make([]bool, len(h.cells))
	byName := map[string]*dim{}
	for k, cell := range h.cells {
		if current[k] = true; !other(cell) {
			continue
		}
		old, err := lang.FieldsOf(definitions[h.records[cell].Definition], h.records[cell].Axes.Map(), lang.Run)
		if err != nil {
			continue
		}
		for _, c := range differing(old, h.phase.Fields(cell, lang.Run)) {
			key := fmt.Sprint(c.field, "#", c.token)
			if byName[key] == nil {
				byName[key] = &dim{name: c.name, axis: -1, field: c.field, token: c.token}
			}
			if was[k] == nil {
				was[k] = map[string]mark{}
			}
			was[k][key], current[k] = markOf(c.old), false
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byName)) {
		d := byName[key]
		for k, cell := range h.cells {
			m, ok := was[k][key]
			if !ok {
				m = d.of(h.phase, cell)
			}
			d.values = append(d.values, m)
		}
		h.dims = append(h.dims, d)
	}
	if slices.Contains(current, true) && slices.Contains(current, false) {
		h.mean = current
	}
}

// A rewrite is a value in a definition that is another by now.
type rewrite struct {
	name, field string
	token       int
	old         string
}

// differing are the values that two definitions of one job differ by: params and
// variables of the environment as a whole, and the numbers of the command. Where a
// command only repeats a param, the param is named.
func differing(old, now []lang.Field) (out []rewrite) {
	is := map[string]string{}
	for _, f := range now {
		is[f.Name] = f.Text
	}
	pairs := map[[2]string]bool{}
	for _, f := range old {
		text, ok := is[f.Name]
		kind, name, dotted := strings.Cut(f.Name, ".")
		if !ok || !dotted || text == f.Text || seedlike(name) || kind != "param" && (kind != "env" || !markOf(text).is || !markOf(f.Text).is) {
			continue
		}
		pairs[[2]string{f.Text, text}] = true
		out = append(out, rewrite{name, f.Name, -1, f.Text})
	}
	for k, f := range old {
		text, ok := is[f.Name]
		if !ok || text == f.Text || !strings.HasPrefix(f.Name, "command") {
			continue
		}
		was, by := tokens(f.Text), tokens(text)
		if len(was) != len(by) {
			continue
		}
		for i := range was {
			if was[i] == by[i] || !markOf(was[i]).is || !markOf(by[i]).is || pairs[[2]string{was[i], by[i]}] {
				continue
			}
			name := f.Name
			if i > 0 && !markOf(was[i-1]).is { // a number names nothing
				name = was[i-1]
			} else if k > 0 && f.Name != "command" {
				name = old[k-1].Text
			}
			if name = strings.TrimLeft(name, "-"); !seedlike(name) {
				out = append(out, rewrite{name, f.Name, i, was[i]})
			}
		}
	}
	return out
}

// tokens are the words of a command.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n=,:;\"'()[]{}", r) })
}

// of is the value of a dim for a cell, as it is written now.
func (d *dim) of(p *lang.Phase, cell int) mark {
	if d.axis >= 0 {
		v := p.Grid.Value(cell, d.axis)
		return mark{v.Text, v.Num, v.IsNum && v.Num >= 0}
	}
	text, _ := p.Field(cell, d.field)
	if d.token >= 0 {
		words := tokens(text)
		if d.token >= len(words) {
			return mark{}
		}
		text = words[d.token]
	}
	return markOf(text)
}

// A reach is the values of a dim that were seen.
type reach struct {
	first  mark
	varied bool
	number bool    // all are numbers
	lo, hi float64 // of the numbers
	least  float64 // above zero; 0 = none is
}

func reachOf(values []mark, counts []bool) (r reach) {
	r.number = true
	for k, m := range values {
		if counts != nil && !counts[k] {
			continue
		}
		if r.first == (mark{}) {
			r.first, r.lo, r.hi = m, m.num, m.num
		}
		r.varied = r.varied || !r.first.same(m)
		r.number = r.number && m.is
		r.lo, r.hi = min(r.lo, m.num), max(r.hi, m.num)
		if m.num > 0 && (r.least == 0 || m.num < r.least) {
			r.least = m.num
		}
	}
	return r
}

func (m mark) same(o mark) bool { return m.text == o.text || m.is && o.is && m.num == o.num }

// How far evidence reaches beyond its own numbers: by the factor between the least and the
// largest of them, a law at least by leastReach, and never by more than mostReach. These are
// judgements of ours: a parameter without an effect from 1 to 10 may well have none up to 100,
// and a law from two similar sizes holds near them only.
const (
	leastReach = 4
	mostReach  = 100
)

// has reports whether the evidence covers a value.
func (r reach) has(m mark, law bool) bool {
	switch {
	case r.first == (mark{}):
		return true
	case !r.varied:
		return r.first.same(m)
	case !r.number || !m.is: // of several kinds, a job may be of any
		return true
	case m.num >= r.lo && m.num <= r.hi || r.least == 0:
		return true
	}
	by := min(r.hi/r.least, mostReach)
	if law {
		by = max(by, leastReach)
	}
	return m.num <= r.hi*by && (m.num >= r.least/by || m.num == 0)
}

func (r reach) String() string {
	if r.varied && r.number {
		return markOf(strconv.FormatFloat(r.lo, 'g', -1, 64)).String() + " to " + markOf(strconv.FormatFloat(r.hi, 'g', -1, 64)).String()
	}
	return r.first.String()
}

// apart names the difference between the work of a cell and that of the completed
// jobs: "epochs 400 → 40,000"; "" where they are comparable. A law is known beyond
// them, too, on the dims that it is about.
func (h *Past) apart(cell int, about func(k int) bool) string {
	if len(h.cells) == 0 {
		return ""
	}
	var out []string
	for k, d := range h.dims {
		r, law := d.seen, about(k)
		if law {
			r = d.all
		}
		if now := d.of(h.phase, cell); !r.has(now, law) {
			out = append(out, d.name+" "+r.String()+" → "+now.String())
		}
	}
	return strings.Join(out, ", ")
}

// Speaking selects the cells for which a completed job counts in a mean: where some did the
// present work, those.
func (h *Past) Speaking() func(cell int) bool {
	if h.mean == nil {
		return func(int) bool { return true }
	}
	counts := map[int]bool{}
	for k, cell := range h.cells {
		counts[cell] = h.mean[k]
	}
	return func(cell int) bool { return counts[cell] }
}
