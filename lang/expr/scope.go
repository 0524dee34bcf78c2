package expr

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
)

// A Scope has the names that the expressions of one phase can use. It is used
// by pointer and keeps the common data of its expressions, so all of a phase's
// expressions should be compiled with one. Its fields must not change once it
// is in use.
type Scope struct {
	Grid   *grid.Grid                // nil: no cell; cell.* is unknown
	Static *hcl.EvalContext          // var, local, path, functions
	Params map[string]hcl.Expression // param.NAME; may read cell.*, other params, symbols

	// Symbols are the roots that are written by name in canonical text and are
	// resolved at the job's site: input, output, path … with the names they
	// have; nil for any name. A name that is not listed is looked up in Static.
	Symbols map[string][]string
	// Sensitive reports values of Static that must be written by name, too.
	// Marked values do so anyway.
	Sensitive func(root, name string) bool

	mu     sync.Mutex
	params map[string]*Template
	open   []string // params being compiled, outermost first
	projs  map[string]*grid.Projection
	frames sync.Pool
}

// A Symbol is a value known only where the job runs.
type Symbol struct {
	Root, Name string // Name is "" for a bare root such as checkpoint
	Range      hcl.Range
}

func (s Symbol) String() string {
	if s.Name == "" {
		return s.Root
	}
	return s.Root + "." + s.Name
}

// Lookup resolves a symbol where a job is rendered.
type Lookup func(root, name string) (cty.Value, bool)

// Bounds of one evaluation: beyond any honest use, and far from the machine's.
const (
	maxSteps = 500_000  // iterations of all for expressions together
	maxBytes = 64 << 20 // text made by them, and the size of any value
)

// A frame is the place where an expression is evaluated: one cell, and the
// symbols if they are known. Nodes find it through the context.
type frame struct {
	ctx    *hcl.EvalContext
	scope  *Scope
	meter  *Meter
	cell   int
	lookup Lookup
	values []*grid.Value // by axis, instead of a cell's
	steps  int
	bytes  int
}

// frameName cannot be written in HCL, so no user's name hides it.
const frameName = "muster frame"

var frameType = cty.Capsule("frame", reflect.TypeFor[frame]())

func newFrame(s *Scope, static *hcl.EvalContext) *frame {
	f := &frame{scope: s, meter: meterOf(static)}
	if static != nil {
		f.ctx = static.NewChild()
	} else {
		f.ctx = &hcl.EvalContext{}
	}
	f.ctx.Variables = map[string]cty.Value{frameName: cty.CapsuleVal(frameType, f)}
	return f
}

func (s *Scope) frame(cell int, lookup Lookup) *frame {
	f, _ := s.frames.Get().(*frame)
	if f == nil {
		f = newFrame(s, s.Static)
	}
	f.cell, f.lookup, f.steps, f.bytes = cell, lookup, 0, 0
	return f
}

func (s *Scope) release(f *frame) {
	f.lookup = nil
	s.frames.Put(f)
}

// frameOf finds the frame of a context; nil when there is none.
func frameOf(ctx *hcl.EvalContext) *frame {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[frameName]; ok {
			return v.EncapsulatedValue().(*frame)
		}
	}
	return nil
}

// tooMuch is the panic that ends an evaluation beyond its bounds, or, without a
// word, those of its campaign; only eval sees it.
type tooMuch struct{ what string }

// spend counts one step of so many nodes and the text it made.
func (f *frame) spend(nodes int, v cty.Value) {
	f.steps++
	f.meter.spend(stepWork + nodes)
	f.within()
	if f.steps > maxSteps {
		panic(tooMuch{fmt.Sprintf("more than %d steps", maxSteps)})
	}
	if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && !v.IsMarked() {
		if f.bytes += len(v.AsString()); f.bytes > maxBytes {
			panic(tooMuch{fmt.Sprintf("more than %d MiB of text", maxBytes>>20)})
		}
	}
}

// within ends an evaluation when the campaign's meter is spent.
func (f *frame) within() {
	if f.meter.spent() {
		panic(tooMuch{})
	}
}

// eval evaluates within the bounds. HCL itself panics on some odd operands
// (a null bool in ||); such a panic is an error of the expression here.
func (f *frame) eval(e hcl.Expression) (v cty.Value, ds hcl.Diagnostics) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		summary, detail := "The expression cannot be evaluated", "The operands do not fit the operation; a null may be among them."
		if t, ok := r.(tooMuch); ok && t.what == "" {
			summary = TooMuchWork
			detail = "All expressions over all cells together are too much; this one came last. Shorten its loops, move values that are the same for all cells into a local, or do the work in the jobs."
		} else if ok {
			detail = "It takes " + t.what + ". For many cells use a grid, which is never a list in memory."
		}
		v = cty.DynamicVal
		ds = hcl.Diagnostics{{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: e.Range().Ptr()}}
	}()
	f.within()
	v, ds = e.Value(f.ctx)
	f.within() // functions count, too, and try and can may drop their errors
	return v, ds
}

// Eval evaluates an expression outside any cell, for variables, locals and
// blocks that know no cell. It is bounded as cell expressions are, its
// numbers follow the language's rule, and it never panics.
func Eval(e hcl.Expression, static *hcl.EvalContext) (cty.Value, diag.List) {
	f := newFrame(nil, static)
	if syn, ok := e.(hclsyntax.Expression); ok {
		r := rewriter{}
		if e = r.expr(syn, false); r.ds.HasErrors() {
			return cty.DynamicVal, r.ds
		}
	}
	v, hds := f.eval(e)
	ds := diag.FromHCL(hds)
	if !ds.HasErrors() {
		ds.Append(tooBig(v, e.Range())...)
	}
	return v, ds
}

// TooLarge is the summary of the diagnostic about values beyond all bounds.
const TooLarge = "The value is too large"

// tooBig refuses values whose text would fill the memory when used again and
// again.
func tooBig(v cty.Value, at hcl.Range) (ds diag.List) {
	size := 0
	if v.Type() == cty.String {
		if raw, _ := v.Unmark(); raw.IsKnown() && !raw.IsNull() {
			size = len(raw.AsString())
		}
	} else if !v.Type().IsPrimitiveType() {
		_ = cty.Walk(v, func(p cty.Path, e cty.Value) (bool, error) {
			size += 16 * max(1, len(p)) // deep values cost more than flat ones wherever they are looked at
			if raw, _ := e.Unmark(); raw.Type() == cty.String && raw.IsKnown() && !raw.IsNull() {
				size += len(raw.AsString())
			}
			return size <= maxBytes, nil
		})
	}
	if size > maxBytes/4 {
		ds.Errorat(at, TooLarge, "It holds over %d MiB. Keep bulky data in files and pass their paths.", maxBytes/4>>20)
	}
	return ds
}

// project is the projection on some axes, shared by all that read them.
func (s *Scope) project(axes []int) *grid.Projection {
	key := fmt.Sprint(axes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projs[key]; p != nil {
		return p
	}
	p := s.grid().Project(axes)
	if s.projs == nil {
		s.projs = map[string]*grid.Projection{}
	}
	s.projs[key] = &p
	return &p
}

func (s *Scope) grid() *grid.Grid {
	if s.Grid == nil {
		return noGrid
	}
	return s.Grid
}

var noGrid = grid.Single()

// roots are the names an expression may begin with, sorted.
func (s *Scope) roots() []string {
	var names []string
	if s.Grid != nil {
		names = append(names, "cell")
	}
	if s.Params != nil {
		names = append(names, "param")
	}
	for name := range s.Symbols {
		names = append(names, name)
	}
	for ctx := s.Static; ctx != nil; ctx = ctx.Parent() {
		for name := range ctx.Variables {
			if name == meterName {
				continue
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
