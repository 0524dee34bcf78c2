package lang

import (
	"slices"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// Alike groups the cells by their needs where they start: cells of one class have the same
// image, setup and required files there. With env, the variables tell classes apart, too,
// since a setup may read them.
func (p *Phase) Alike(v Variant, env bool) grid.Projection {
	f := p.job.form[v]
	var axes []int
	reads := func(t *expr.Template) {
		if t != nil {
			axes = append(axes, t.Axes()...)
		}
	}
	reads(f.of("image"))
	reads(f.of("setup"))
	for k := range p.Preconditions {
		reads(p.Preconditions[k].file)
	}
	if env {
		for _, e := range f.env {
			reads(e.t)
		}
	}
	slices.Sort(axes)
	return p.Grid.Project(slices.Compact(axes))
}

// HasSetup reports whether jobs bring a setup of their own.
func (p *Phase) HasSetup(v Variant) bool { return p.job.form[v].of("setup") != nil }

// Images parts the cells by their container image; false where they have none.
func (p *Phase) Images(v Variant) (grid.Projection, bool) {
	t := p.job.form[v].of("image")
	if t == nil {
		return grid.Projection{}, false
	}
	return p.Grid.Project(t.Axes()), true
}
