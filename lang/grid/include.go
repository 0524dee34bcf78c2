package grid

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
)

// include adds whole cells. Their values may be new to the axes, so the cells
// there are get new codes.
func (e *expansion) include() {
	if len(e.spec.Include) == 0 {
		return
	}
	old := *e.g
	wide := &Grid{Repeat: old.Repeat}
	for _, axis := range old.Axes {
		values := slices.Clone(axis.Values)
		for _, row := range e.spec.Include {
			values = append(values, row[axis.Name])
		}
		wide.Axes = append(wide.Axes, Axis{Name: axis.Name, Values: e.merged(axis, values), At: axis.At, Counts: axis.Counts})
	}
	wide.finish()
	if e.ds.HasErrors() {
		return
	}
	rows := e.oldRows(&old, wide)
	for _, row := range e.spec.Include {
		for a, axis := range wide.Axes {
			v, _ := wide.valueIndex(a, row[axis.Name].Text)
			rows = append(rows, uint32(v))
		}
	}
	wide.setRows(rows)
	if dups := old.n + len(e.spec.Include) - wide.n; dups > 0 {
		e.ds.Append(e.at(e.spec.At.includes(), diag.Warning, "An included cell already exists", "Some entries of include in "+e.name()+" are cells that the grid has without them; they count once."))
	}
	e.g = wide
}

// checkIncludes reports entries that miss an axis or have one too many.
func (e *expansion) checkIncludes() {
	names := e.g.AxisNames()
	told := 0
	for k, row := range e.spec.Include {
		at := e.spec.At.include(k)
		for _, name := range slices.Sorted(maps.Keys(row)) {
			if !slices.Contains(names, name) {
				told++
				e.errorf(at, "No such axis", "Entry %d of include has a value for %q, which is not an axis of %s%s", k+1, name, e.name(), didYouMean(name, names))
			}
		}
		var missing []string
		for _, name := range names {
			if _, ok := row[name]; !ok {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			told++
			e.errorf(at, "An included cell is incomplete", "Entry %d of include in %s has no value for %s; it must name every axis.", k+1, e.name(), strings.Join(missing, ", "))
		}
		if told > 20 { // the rest is the same mistake
			break
		}
	}
}

// merged sorts the axis's values with those of the included cells. Values
// that are there already are expected; only a differing type or object is reported.
func (e *expansion) merged(axis Axis, values []Value) []Value {
	slices.SortStableFunc(values, compare)
	byText := make(map[string]Value, len(values))
	return slices.DeleteFunc(values, func(v Value) bool {
		kept, twice := byText[v.Text]
		if !twice {
			byText[v.Text] = v
			return false
		}
		if !kept.V.Type().Equals(v.V.Type()) || kept.Object && !kept.V.RawEquals(v.V) {
			e.twice(axis, kept, v)
		}
		return true
	})
}

// oldRows are the cells there were, by the new value indices.
func (e *expansion) oldRows(old, wide *Grid) []uint32 {
	moved := make([][]uint32, len(old.Axes))
	for a, axis := range old.Axes {
		moved[a] = make([]uint32, len(axis.Values))
		for i, v := range axis.Values {
			j, _ := wide.valueIndex(a, v.Text)
			moved[a][i] = uint32(j)
		}
	}
	rows := make([]uint32, 0, (old.n+len(e.spec.Include))*len(old.Axes))
	for i := range old.n {
		for a := range old.Axes {
			rows = append(rows, moved[a][old.Coord(i, a)])
		}
	}
	return rows
}

// setRows makes the grid hold the given cells, sorted and once each: as codes
// when the axes' product fits one, else as rows.
func (g *Grid) setRows(rows []uint32) {
	w := len(g.Axes)
	n := len(rows) / w
	if g.stride != nil {
		codes := make([]uint64, n)
		for i := range codes {
			for a := range w {
				codes[i] += uint64(rows[i*w+a]) * g.stride[a]
			}
		}
		slices.Sort(codes)
		g.codes = slices.Compact(codes)
		g.n = len(g.codes)
		return
	}
	cells := make([][]uint32, n)
	for i := range cells {
		cells[i] = rows[i*w : (i+1)*w]
	}
	slices.SortFunc(cells, slices.Compare[[]uint32])
	cells = slices.CompactFunc(cells, slices.Equal[[]uint32])
	g.rows = make([]uint32, 0, len(cells)*w)
	for _, c := range cells {
		g.rows = append(g.rows, c...)
	}
	g.n = len(cells)
}
