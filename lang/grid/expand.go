package grid

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
)

// DefaultMaxCells is the most cells a grid may have unless max_cells in the
// campaign block raises it.
const DefaultMaxCells = 10_000_000

// A Spec is a grid as written.
type Spec struct {
	Name     string // for messages: "grid.student" or `phase "teachers"`
	Axes     []Axis // in any order
	Where    []Predicate
	Include  []map[string]Value // whole cells, also with values that no axis has; not filtered or sampled
	Sample   *Sample            // nil: all cells
	Repeat   []string
	MaxCells int // 0: DefaultMaxCells
	Range    hcl.Range
	At       At
}

// At is where the parts of a grid are written; a zero means Range.
type At struct {
	Where, Sample, Repeat hcl.Range
	Include               []hcl.Range // by entry
}

func (a At) include(k int) hcl.Range {
	if k < len(a.Include) {
		return a.Include[k]
	}
	return hcl.Range{}
}

func (a At) includes() hcl.Range {
	if len(a.Include) == 0 {
		return hcl.Range{}
	}
	return hcl.RangeBetween(a.Include[0], a.Include[len(a.Include)-1])
}

// A Predicate is a condition on some axes. All predicates must hold.
type Predicate struct {
	Axes []string
	// Keep is asked once per combination of the axes' values.
	Keep func(values []*Value) (bool, diag.List)
}

// Expand makes a grid. It counts before it expands, and takes time and memory
// in proportion to the cells of the full product, MaxCells at most.
func Expand(s Spec) (*Grid, diag.List) {
	e := expansion{spec: s, g: &Grid{}}
	if e.hopeless() {
		return Single(), e.ds
	}
	e.axes()
	e.repeat()
	e.checkIncludes()
	if e.ds.HasErrors() || !e.count() {
		return Single(), e.ds
	}
	e.filter()
	if e.ds.HasErrors() {
		return Single(), e.ds
	}
	e.sample()
	e.include()
	if e.ds.HasErrors() {
		return Single(), e.ds
	}
	if e.g.n == 0 {
		e.ds.Append(e.at(e.spec.At.Where, diag.Warning, "The grid has no cells", "where is true for no combination of the axes of "+e.name()+", so it has no jobs."))
	}
	return e.g, e.ds
}

// expansion is the work of one Expand.
type expansion struct {
	spec    Spec
	g       *Grid
	product int
	ds      diag.List
}

// at is a diagnostic of a part of the grid.
func (e *expansion) at(part hcl.Range, sev diag.Severity, summary, detail string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: sev, Summary: summary, Detail: detail}
	if part.Filename == "" {
		part = e.spec.Range
	}
	if part.Filename != "" {
		d.Subject = part.Ptr()
	}
	return d
}

func (e *expansion) errorf(part hcl.Range, summary, detail string, args ...any) {
	e.ds.Append(e.at(part, diag.Error, summary, fmt.Sprintf(detail, args...)))
}

func (e *expansion) name() string {
	if e.spec.Name == "" {
		return "the grid"
	}
	return e.spec.Name
}

// axes sorts and checks the axes; without any, they are those of the first
// included cell.
func (e *expansion) axes() {
	for _, a := range e.spec.Axes {
		e.axis(a)
	}
	if len(e.spec.Axes) == 0 && len(e.spec.Include) > 0 {
		for name := range e.spec.Include[0] {
			e.axis(Axis{Name: name})
		}
	}
	slices.SortFunc(e.g.Axes, func(a, b Axis) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(e.g.Axes); i++ {
		if e.g.Axes[i].Name == e.g.Axes[i-1].Name {
			e.errorf(e.g.Axes[i].At, "Duplicate axis", "The axis %q appears twice in %s.", e.g.Axes[i].Name, e.name())
		}
	}
	if len(e.g.Axes) == 0 {
		e.errorf(hcl.Range{}, "A grid needs an axis", "%s has no axes; leave the grid out for a phase of one job.", e.name())
	}
}

func (e *expansion) axis(a Axis) {
	switch name := a.Name; {
	case name == "key":
		e.errorf(a.At, "The axis name \"key\" is taken", "cell.key is the cell's whole key; name the axis otherwise.")
	case !addr.ValidName(name):
		e.errorf(a.At, "Invalid axis name", "%q cannot name an axis: letters, digits, _ and -, not beginning with a digit.", name)
	case len(a.Values) == 0 && len(e.spec.Include) == 0:
		e.errorf(a.At, "An axis has no values", "The axis %q of %s is an empty list, so there would be no cells.", name, e.name())
	}
	a.Values = e.distinct(a)
	e.g.Axes = append(e.g.Axes, a)
}

// distinct sorts values and drops duplicates, with a warning.
func (e *expansion) distinct(a Axis) []Value {
	sorted := slices.Clone(a.Values)
	byText := make(map[string]Value, len(sorted))
	slices.SortStableFunc(sorted, compare)
	return slices.DeleteFunc(sorted, func(v Value) bool {
		old, twice := byText[v.Text]
		if !twice {
			byText[v.Text] = v
			return false
		}
		e.twice(a, old, v)
		return true
	})
}

func (e *expansion) twice(axis Axis, kept, dropped Value) {
	switch {
	case kept.Object || dropped.Object:
		if !kept.V.RawEquals(dropped.V) {
			e.errorf(axis.At, "Two objects with one key", "Two values of the axis %q of %s have the key %s but differ otherwise; a key names one setting.", axis.Name, e.name(), kept.KeyText)
			return
		}
		fallthrough
	case kept.V.Type() == dropped.V.Type():
		e.ds.Append(e.at(axis.At, diag.Warning, "Duplicate axis value", fmt.Sprintf("The value %s appears twice on the axis %q of %s; it counts once.", kept.KeyText, axis.Name, e.name())))
	default:
		e.ds.Append(e.at(axis.At, diag.Warning, "One axis value in two types", fmt.Sprintf("The axis %q of %s holds %s both as a %s and as a %s. Both are the same cell; it counts once, as a %s.",
			axis.Name, e.name(), kept.KeyText, kept.V.Type().FriendlyName(), dropped.V.Type().FriendlyName(), kept.V.Type().FriendlyName())))
	}
}

func (e *expansion) repeat() {
	for _, name := range e.spec.Repeat {
		if e.g.AxisIndex(name) < 0 {
			e.errorf(e.spec.At.Repeat, "No such axis", "repeat names the axis %q, which %s does not have%s", name, e.name(), didYouMean(name, e.g.AxisNames()))
		}
	}
	e.g.Repeat = slices.Clone(e.spec.Repeat)
	slices.Sort(e.g.Repeat)
	e.g.Repeat = slices.Compact(e.g.Repeat)
}

func didYouMean(name string, known []string) string {
	switch s := diag.Suggest(name, known); {
	case s != "":
		return fmt.Sprintf("; did you mean %q?", s)
	case len(known) > 0 && len(known) <= 12:
		return "; its axes are " + strings.Join(known, ", ") + "."
	}
	return "."
}

// hopeless refuses a grid that is far too large before its values are searched
// for duplicates.
func (e *expansion) hopeless() bool {
	const far = 1000 // times the limit
	return !e.within(e.spec.Axes, far*e.limit())
}

// count refuses a grid that is too large, before anything is expanded.
func (e *expansion) count() bool { return e.within(e.g.Axes, e.limit()) }

func (e *expansion) limit() int {
	if e.spec.MaxCells <= 0 {
		return DefaultMaxCells
	}
	return e.spec.MaxCells
}

func (e *expansion) within(axes []Axis, limit int) bool {
	total := big.NewInt(1)
	var factors []string
	for _, a := range axes {
		total.Mul(total, big.NewInt(int64(len(a.Values))))
		factors = append(factors, fmt.Sprintf("%s %s", units.FormatCount(int64(len(a.Values))), a.Name))
	}
	all := new(big.Int).Add(total, big.NewInt(int64(len(e.spec.Include))))
	if all.Cmp(big.NewInt(int64(limit))) > 0 {
		more := ""
		if len(e.spec.Where) > 0 || e.spec.Sample != nil {
			more = " (counted before where and sample)"
		}
		e.errorf(hcl.Range{}, "The grid is too large", "%s has %s cells (%s)%s; at most %s are allowed. Shorten an axis, or raise max_cells in the campaign block.",
			capital(e.name()), units.FormatDigits(all.String()), strings.Join(factors, " × "), more, units.FormatCount(int64(e.limit())))
		return false
	}
	e.product = int(total.Int64())
	return true
}

func capital(s string) string {
	if s == "the grid" {
		return "The grid"
	}
	return s
}
