package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/grid"
)

// smokeHead reads a smoke block, but for what it expects.
func (l *loader) smokeHead(p *phaseBuild, b *block) *Smoke {
	told := len(l.sure)
	s := &Smoke{Walltime: l.duration(b, "walltime", -1), Cells: l.pick(p, b), Isolated: l.boolean(b, "isolated"), Parallel: l.boolean(b, "parallel"), Range: b.rng}
	if s.Walltime == 0 && told == len(l.sure) {
		l.wrong(b.expr("walltime"), "walltime", "A walltime is more than nothing.")
	}
	s.Walltime = max(0, s.Walltime)
	if place := b.one("place"); place != nil {
		s.Candidates = l.candidates(place)
		if e := place.expr("prefer"); e != nil {
			l.wrong(e, "prefer", "A smoke runs on the cheapest pool of its environment class; name candidates only.")
		}
	}
	return s
}

// pick is cells = "first", "ends", "all", or a list of partial cells.
func (l *loader) pick(p *phaseBuild, b *block) []int {
	e := b.expr("cells")
	if e == nil {
		return first(p.Grid)
	}
	v, ok := l.eval(e)
	if !ok || !p.full {
		return first(p.Grid)
	}
	v, _ = v.UnmarkDeep()
	if v.Type() == cty.String {
		switch word := v.AsString(); word {
		case "first":
			return first(p.Grid)
		case "ends":
			return p.Grid.Ends()
		case "all":
			return upTo(p.Grid.Len())
		default:
			l.wrong(e, "cells", "%q is not one of first, ends, all%s A list of partial cells is the other form: [{ N = 384 }].", clip(word), didYouMean(word, []string{"first", "ends", "all"}))
			return nil
		}
	}
	if !isList(v) {
		l.wrong(e, "cells", "Write \"first\", \"ends\", \"all\", or a list of partial cells such as [{ N = 384 }].")
		return nil
	}
	if v.LengthInt() == 0 {
		l.wrong(e, "cells", "The list is empty, so no cell would be tried. Name a cell, or leave the %s block out.", b.spec.Name)
	}
	var out []int
	for _, x := range v.AsValueSlice() {
		match, err := partialCell(p.Grid, x)
		if err != nil {
			l.wrong(e, "cells", "%s", sentence(err))
			continue
		}
		if found := cellsWith(p.Grid, match); len(found) > 0 {
			out = append(out, found...)
		} else {
			l.wrong(e, "cells", "No cell of phase.%s has %s.", p.Name, describe(p.Grid, match))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func first(g *grid.Grid) []int {
	if g.Len() == 0 {
		return nil
	}
	return []int{0}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// partialCell turns { N = 384 } into value indices by axis, -1 for any.
func partialCell(g *grid.Grid, v cty.Value) ([]int, error) {
	if !isMap(v) {
		return nil, fmt.Errorf("a partial cell is an object such as { N = 384 }, not %s", article(v.Type().FriendlyName()))
	}
	match := slices.Repeat([]int{-1}, len(g.Axes))
	m := v.AsValueMap()
	for _, name := range sortedKeys(m) {
		a := g.AxisIndex(name)
		if a < 0 {
			return nil, fmt.Errorf("there is no axis named %q%s", clip(name), didYouMean(name, g.AxisNames()))
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

func describe(g *grid.Grid, match []int) string {
	var parts []string
	for a, v := range match {
		if v >= 0 {
			parts = append(parts, g.Axes[a].Name+"="+g.Axes[a].Values[v].KeyText)
		}
	}
	return strings.Join(parts, ",")
}
