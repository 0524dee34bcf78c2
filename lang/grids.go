package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A sharedGrid is a top-level grid block, expanded once.
type sharedGrid struct {
	b    *syntax.Block
	g    *grid.Grid
	ok   bool // expanded without errors
	full bool // all its values are known
}

// A gridSet holds the grids of one campaign.
type gridSet struct {
	*decode.Reader
	most  int // cells of one grid
	named map[string]*sharedGrid
}

// readGrids reads the top-level grid blocks; none may have more than most cells.
func readGrids(r *decode.Reader, blocks []*syntax.Block, most int) *gridSet {
	gs := &gridSet{Reader: r, most: most, named: map[string]*sharedGrid{}}
	for _, b := range blocks {
		s := &sharedGrid{b: b}
		s.g, s.ok, s.full = gs.grid(b, "grid."+b.Name())
		gs.named[b.Name()] = s
	}
	return gs
}

// OfPhase is the grid of a phase: inline, by reference, or none. ok says that
// it has no errors, full that every value of it is known.
func (gs *gridSet) OfPhase(b *syntax.Block) (g *grid.Grid, ok, full bool) {
	if inner := b.One("grid"); inner != nil {
		return gs.grid(inner, fmt.Sprintf("phase %q", b.Name()))
	}
	e := b.Expr("grid")
	if e == nil {
		return grid.Single(), true, true
	}
	if _, isObject := e.(*hclsyntax.ObjectConsExpr); isObject {
		gs.Wrong(e, "grid", "An inline grid is a block: write grid { axes = { … } } without the equals sign.")
		return grid.Single(), false, false
	}
	if bare := hcl.ExprAsKeyword(e); gs.named[bare] != nil {
		gs.Wrong(e, "grid", "Write grid = grid.%s.", bare)
		return grid.Single(), false, false
	}
	names := map[string]cty.Value{}
	for name := range gs.named {
		names[name] = cty.StringVal(name)
	}
	for _, t := range e.Variables() {
		if parts := value.Names(t); t.RootName() == "grid" && (len(parts) != 2 || gs.named[parts[1]] == nil) {
			name := ""
			if len(parts) > 1 {
				name = parts[1]
			}
			if name == "" {
				gs.Wrong(e, "grid", "A grid is needed: grid = grid.NAME, or a grid block.")
				return grid.Single(), false, false
			}
			if gs.named[name] != nil {
				gs.Wrong(e, "grid", "A whole grid is needed: grid = grid.%s.", name)
				return grid.Single(), false, false
			}
			gs.Perhaps.Errorat(t.SourceRange(), "Unknown grid", "There is no grid named %q%s", wording.Clip(name), wording.Known(name, slices.Sorted(maps.Keys(gs.named)), "the grids are"))
			return grid.Single(), false, false
		}
	}
	v, known := gs.Eval(e, map[string]cty.Value{"grid": cty.ObjectVal(names)})
	if !known {
		return grid.Single(), false, false
	}
	name, err := value.Text(v)
	s := gs.named[name]
	if err != nil || s == nil {
		gs.Wrong(e, "grid", "A grid is needed: grid = grid.NAME, or a grid block.")
		return grid.Single(), false, false
	}
	return s.g, s.ok, s.full
}

// grid evaluates and expands a grid block.
func (gs *gridSet) grid(b *syntax.Block, name string) (g *grid.Grid, ok, full bool) {
	spec := grid.Spec{Name: name, Repeat: gs.Texts(b, "repeat"), MaxCells: gs.most, Range: b.Range}
	ok, full = true, true
	if b.Expr("axes") == nil && (gs.Broken || b.Meant["axes"]) {
		return grid.Single(), false, false // they may be among those that could not be read
	}
	if e := b.Expr("axes"); e != nil {
		spec.Axes, ok, full = gs.Axes(e)
	}
	told := len(gs.Sure)
	spec.Sample = gs.Sample(b)
	spec.Include, spec.At.Include = gs.Include(b)
	ok = ok && told == len(gs.Sure)
	for name, at := range map[string]*hcl.Range{"where": &spec.At.Where, "sample": &spec.At.Sample, "repeat": &spec.At.Repeat} {
		if e := b.Expr(name); e != nil {
			*at = e.Range()
		}
	}
	if e := b.Expr("where"); e != nil {
		preds, ds := expr.Where(e, gs.Static, spec.Axes)
		gs.Perhaps.Append(ds...)
		if ok, full = ok && !ds.HasErrors(), full && !gs.UnknownIn(e); ok && full {
			spec.Where = preds
		}
	}
	if !ok && len(spec.Axes) == 0 {
		return grid.Single(), false, false
	}
	if !ok {
		spec.Where, spec.Sample = nil, nil // the consequences of a mistake are not reported
	}
	g, ds := grid.Expand(spec)
	gs.Perhaps.Append(ds...)
	if ok = ok && !ds.HasErrors(); !ok {
		return grid.Single(), false, false
	}
	return g, true, full
}
