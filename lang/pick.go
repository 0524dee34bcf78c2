package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// pickCells is cells = "first", "ends", "all", or a list of partial cells.
func pickCells(r *decode.Reader, p *phaseBuild, b *syntax.Block) []int {
	e := b.Expr("cells")
	if e == nil {
		return firstCell(p.Grid)
	}
	v, ok := r.Eval(e)
	if !ok {
		return firstCell(p.Grid)
	}
	v, _ = v.UnmarkDeep()
	if v.Type() == cty.String {
		switch word := v.AsString(); word {
		case "first":
			return firstCell(p.Grid)
		case "ends":
			return p.Grid.Ends()
		case "all":
			return firstCells(p.Grid.Len())
		default:
			r.Wrong(e, "cells", "%q is not one of first, ends, all%s A list of partial cells is the other form: [{ N = 384 }].", wording.Clip(word), wording.DidYouMean(word, []string{"first", "ends", "all"}))
			return nil
		}
	}
	if !value.IsList(v) {
		r.Wrong(e, "cells", "Write \"first\", \"ends\", \"all\", or a list of partial cells such as [{ N = 384 }].")
		return nil
	}
	if v.LengthInt() == 0 {
		r.Wrong(e, "cells", "The list is empty, so no cell would be tried. Name a cell, or leave the %s block out.", b.Spec.Name)
	}
	if !p.full {
		return firstCell(p.Grid) // which cells there are is not known
	}
	var out []int
	for _, x := range v.AsValueSlice() {
		match, err := partialCell(p.Grid, x)
		if err != nil {
			r.Wrong(e, "cells", "%s", wording.Sentence(err))
			continue
		}
		if found := cellsWith(p.Grid, match); len(found) > 0 {
			out = append(out, found...)
		} else {
			r.Wrong(e, "cells", "No cell of phase.%s has %s.", p.Name, describeMatch(p.Grid, match))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func firstCell(g *grid.Grid) []int {
	if g.Len() == 0 {
		return nil
	}
	return []int{0}
}

// partialCell turns { N = 384 } into value indices by axis, -1 for any.
func partialCell(g *grid.Grid, v cty.Value) ([]int, error) {
	if !value.IsMap(v) {
		return nil, fmt.Errorf("a partial cell is an object such as { N = 384 }, not %s", wording.A(v))
	}
	match := slices.Repeat([]int{-1}, len(g.Axes))
	m := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		a := g.AxisIndex(name)
		if a < 0 {
			return nil, fmt.Errorf("there is no axis named %q%s", wording.Clip(name), wording.Known(name, g.AxisNames(), "the axes are"))
		}
		val, err := grid.NewValue(m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		match[a] = slices.IndexFunc(g.Axes[a].Values, func(x grid.Value) bool { return x.Text == val.Text })
		if match[a] < 0 {
			var known []string
			for _, x := range g.Axes[a].Values[:min(len(g.Axes[a].Values), 12)] {
				known = append(known, x.Text)
			}
			return nil, fmt.Errorf("the axis %q has no value %s; it has %s", name, val.KeyText, strings.Join(known, ", "))
		}
	}
	return match, nil
}

func cellsWith(g *grid.Grid, match []int) (out []int) {
	for i := range g.Len() {
		ok := true
		for a, v := range match {
			if v >= 0 && g.Coord(i, a) != v {
				ok = false
				break
			}
		}
		if ok {
			out = append(out, i)
		}
	}
	return out
}

func describeMatch(g *grid.Grid, match []int) string {
	var parts []string
	for a, v := range match {
		if v >= 0 {
			parts = append(parts, g.Axes[a].Name+"="+g.Axes[a].Values[v].KeyText)
		}
	}
	return strings.Join(parts, ",")
}

// firstCells are the first n cells.
func firstCells(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
