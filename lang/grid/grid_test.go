package grid

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/diag"
)

func val(t testing.TB, v cty.Value) Value {
	t.Helper()
	x, err := NewValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// axis makes an axis of Go values: numbers, texts and bools.
func axis(t testing.TB, name string, values ...any) Axis {
	t.Helper()
	a := Axis{Name: name}
	for _, v := range values {
		switch v := v.(type) {
		case int:
			a.Values = append(a.Values, val(t, cty.NumberIntVal(int64(v))))
		case float64:
			a.Values = append(a.Values, val(t, cty.NumberFloatVal(v)))
		case bool:
			a.Values = append(a.Values, val(t, cty.BoolVal(v)))
		case string:
			a.Values = append(a.Values, val(t, cty.StringVal(v)))
		case cty.Value:
			a.Values = append(a.Values, val(t, v))
		}
	}
	return a
}

func ints(t testing.TB, name string, n int) Axis {
	a := Axis{Name: name}
	for i := range n {
		a.Values = append(a.Values, val(t, cty.NumberIntVal(int64(i))))
	}
	return a
}

func expand(t testing.TB, s Spec) *Grid {
	t.Helper()
	g, ds := Expand(s)
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	return g
}

func keys(g *Grid) []string {
	var out []string
	for i := range g.Len() {
		out = append(out, g.Key(i))
	}
	return out
}

func TestOrder(t *testing.T) {
	// Requirement: GRD-01
	t.Parallel()
	g := expand(t, Spec{Axes: []Axis{axis(t, "b", "z", 10, 9, true, "a b", 0.5), axis(t, "a", "x")}})
	want := `a=x,b=0.5 a=x,b=9 a=x,b=10 a=x,b="a b" a=x,b=true a=x,b=z`
	if got := strings.Join(keys(g), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if fmt.Sprint(g.Ends()) != "[0 5]" {
		t.Error("ends", g.Ends())
	}
}

func TestOneNumber(t *testing.T) {
	t.Parallel()
	product := cty.MustParseNumberVal("11").Multiply(cty.MustParseNumberVal("0.001"))
	g, ds := Expand(Spec{Axes: []Axis{axis(t, "lr", product, cty.MustParseNumberVal("0.011"), cty.MustParseNumberVal("1.1e-2"))}})
	if ds.HasErrors() || g.Len() != 1 || g.Key(0) != "lr=0.011" {
		t.Errorf("got %v, %v", keys(g), ds)
	}
	if !g.Value(0, 0).V.RawEquals(cty.MustParseNumberVal("0.011")) {
		t.Error("the value is not that of its text")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	g, ds := Expand(Spec{Axes: []Axis{axis(t, "N", 384, "384", 512)}})
	if len(ds) != 1 || ds[0].Severity != diag.Warning || g.Len() != 2 || !g.Value(0, 0).IsNum {
		t.Errorf("got %v, %v", keys(g), ds)
	}
	other := expand(t, Spec{Axes: []Axis{axis(t, "N", "512")}})
	if got := MixedTypes(g, other); len(got) != 1 {
		t.Errorf("mixed types: %v", got)
	}
}

func TestBadSpecs(t *testing.T) {
	// Requirement: TDN-08
	t.Parallel()
	obj := func(key string, n int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "n": cty.NumberIntVal(n)})
	}
	x := axis(t, "x", 1, 2)
	huge := Spec{}
	for _, n := range []string{"a", "b", "c", "d"} {
		huge.Axes = append(huge.Axes, ints(t, n, 1000))
	}
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"a trillion cells":   {huge, "1,000,000,000,000 cells"},
		"one too many":       {Spec{Axes: []Axis{ints(t, "a", 101)}, MaxCells: 100}, "101 cells"},
		"no axis":            {Spec{}, "needs an axis"},
		"empty axis":         {Spec{Axes: []Axis{{Name: "x"}}}, "no values"},
		"axis twice":         {Spec{Axes: []Axis{x, x}}, "Duplicate axis"},
		"bad name":           {Spec{Axes: []Axis{axis(t, "a b", 1)}}, "Invalid axis name"},
		"key":                {Spec{Axes: []Axis{axis(t, "key", 1)}}, "taken"},
		"repeat":             {Spec{Axes: []Axis{x}, Repeat: []string{"y"}}, `"y"`},
		"objects":            {Spec{Axes: []Axis{axis(t, "m", obj("a", 1), obj("a", 2))}}, "one key"},
		"include misses":     {Spec{Axes: []Axis{x, axis(t, "y", 1)}, Include: []map[string]Value{{"x": x.Values[0]}}}, "no value for y"},
		"include knows more": {Spec{Axes: []Axis{axis(t, "seed", 1)}, Include: []map[string]Value{{"seeds": x.Values[0], "seed": x.Values[0]}}}, `did you mean "seed"`},
		"negative sample":    {Spec{Axes: []Axis{x}, Sample: &Sample{Count: -1}}, "sample"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ds := Expand(c.spec)
			if !ds.HasErrors() || !strings.Contains(ds.Err().Error(), c.want) {
				t.Errorf("got %v, want %q", ds.Err(), c.want)
			}
		})
	}
}

func TestNewValueRefuses(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]cty.Value{
		"null": cty.NullVal(cty.String), "unknown": cty.UnknownVal(cty.Number), "list": cty.ListValEmpty(cty.String), "object": cty.EmptyObjectVal,
		"infinite": cty.PositiveInfinity, "long": cty.StringVal(strings.Repeat("x", 2000)), "secret": cty.StringVal("x").Mark("sensitive"),
		"tiny": cty.NumberVal(new(big.Float).SetMantExp(big.NewFloat(0.7), -5000)), "utf8": cty.StringVal("\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			if x, err := NewValue(v); err == nil && name != "utf8" || err == nil && x.Text == "\xff" {
				t.Errorf("accepted as %q", x.Text)
			}
		})
	}
}

func TestWhereIsAskedOncePerCombination(t *testing.T) {
	t.Parallel()
	asked := 0
	p := Predicate{Axes: []string{"a"}, Keep: func(v []*Value) (bool, diag.List) {
		asked++
		return v[0].Num < 3, nil
	}}
	g := expand(t, Spec{Axes: []Axis{ints(t, "a", 10), ints(t, "b", 1000)}, Where: []Predicate{p}})
	if asked != 10 || g.Len() != 3000 {
		t.Errorf("asked %d times for %d cells", asked, g.Len())
	}
}

func TestIncludeBringsValues(t *testing.T) {
	t.Parallel()
	n, s := axis(t, "N", 384, 512), axis(t, "seed", 42, 43)
	x := axis(t, "N", 400, 384)
	g := expand(t, Spec{Axes: []Axis{n, s}, Include: []map[string]Value{{"N": x.Values[0], "seed": s.Values[1]}, {"N": x.Values[1], "seed": s.Values[0]}}})
	want := "N=384,seed=42 N=384,seed=43 N=400,seed=43 N=512,seed=42 N=512,seed=43"
	if got := strings.Join(keys(g), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := g.Project([]int{1})
	if p.Len() != 2 {
		t.Error("projection", p.Len())
	}
}

// Random search: each of many axes has a value for each cell, so the product
// of the axes is far beyond 64 bits.
func TestIncludeAlone(t *testing.T) {
	t.Parallel()
	var rows []map[string]Value
	for i := range 200 {
		row := map[string]Value{}
		for a := range 12 {
			row[fmt.Sprintf("p%02d", a)] = val(t, cty.NumberIntVal(int64((i*7919+a*104729)%100003)))
		}
		rows = append(rows, row)
	}
	g := expand(t, Spec{Include: rows})
	if g.Len() != 200 || g.rows == nil {
		t.Fatal(g.Len(), "cells")
	}
	checkGrid(t, g)
}

// checkGrid checks what holds for every grid.
func checkGrid(t interface{ Fatalf(string, ...any) }, g *Grid) {
	all := make([]int, len(g.Axes))
	for a := range all {
		all[a] = a
	}
	p := g.Project(all)
	last := -1
	for i := range g.Len() {
		if j, ok := g.Index(g.Key(i)); !ok || j != i {
			t.Fatalf("cell %d, %s, is found at %d, %v", i, g.Key(i), j, ok)
		}
		if c := p.Of(i); c <= last || p.First(c) != i {
			t.Fatalf("cell %d is not in order", i)
		} else {
			last = c
		}
	}
}

func drawGrid(rt *rapid.T, t testing.TB) Spec {
	var s Spec
	for a := range rapid.IntRange(1, 4).Draw(rt, "axes") {
		vals := rapid.SliceOfNDistinct(rapid.SampledFrom([]any{1, 2, 10, 0.5, "x", "y z", "q\"", true, "é", -3, "a,b=c", "]", "\n"}), 1, 5, func(v any) string { return fmt.Sprint(v) }).Draw(rt, "values")
		s.Axes = append(s.Axes, axis(t, fmt.Sprintf("a%d", a), vals...))
	}
	if rapid.Bool().Draw(rt, "where") {
		mod := rapid.IntRange(2, 4).Draw(rt, "mod")
		s.Where = []Predicate{{Axes: []string{"a0"}, Keep: func(v []*Value) (bool, diag.List) { return len(v[0].Text)%mod != 0, nil }}}
	}
	for range rapid.IntRange(0, 3).Draw(rt, "includes") {
		row := map[string]Value{}
		for _, a := range s.Axes {
			row[a.Name] = axis(t, a.Name, rapid.SampledFrom([]any{1, 7, "new", "x"}).Draw(rt, "v")).Values[0]
		}
		s.Include = append(s.Include, row)
	}
	return s
}

func TestReorderingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawGrid(rt, t)
		g := expand(t, s)
		checkGrid(rt, g)
		other := s
		other.Axes = nil
		for _, a := range rapid.Permutation(s.Axes).Draw(rt, "axes order") {
			other.Axes = append(other.Axes, Axis{Name: a.Name, Values: rapid.Permutation(a.Values).Draw(rt, "values order")})
		}
		other.Include = rapid.Permutation(s.Include).Draw(rt, "include order")
		if h := expand(t, other); !slices.Equal(keys(g), keys(h)) {
			rt.Fatalf("%v\n%v", keys(g), keys(h))
		}
	})
}

func TestSampleGrows(t *testing.T) {
	t.Parallel()
	sample := func(n int) map[string]bool {
		m := map[string]bool{}
		for _, k := range keys(expand(t, Spec{Axes: []Axis{ints(t, "a", n), ints(t, "b", 10)}, Sample: &Sample{Count: 50, Seed: 7}})) {
			m[k] = true
		}
		return m
	}
	few, many := sample(20), sample(22)
	kept := 0
	for k := range few {
		if many[k] {
			kept++
		}
	}
	if len(few) != 50 || len(many) != 50 || kept < 40 {
		t.Errorf("%d of 50 kept as the axis grew by a tenth", kept)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, p := expand(t, drawGrid(rt, t)), expand(t, drawGrid(rt, t))
		match := map[string]func(int) string{}
		if rapid.Bool().Draw(rt, "mapped") {
			match["a0"] = func(i int) string { return c.Value(i, len(c.Axes)-1).Text }
		}
		j := Join(c, p, match)
		for i := range c.Len() {
			var want []int
			for k := range p.Len() {
				if joins(c, p, i, k, match) {
					want = append(want, k)
				}
			}
			if got := j.Members(j.GroupOf(i)); !slices.Equal(got, want) {
				rt.Fatalf("cell %s: got %v, want %v", c.Key(i), got, want)
			}
		}
	})
}

func joins(c, p *Grid, i, k int, match map[string]func(int) string) bool {
	for a := range p.Axes {
		want := p.Value(k, a).Text
		if f := match[p.Axes[a].Name]; f != nil {
			if f(i) != want {
				return false
			}
		} else if own := c.AxisIndex(p.Axes[a].Name); own >= 0 && c.Value(i, own).Text != want {
			return false
		}
	}
	return true
}

func TestSingle(t *testing.T) {
	t.Parallel()
	g := Single()
	if i, ok := g.Index(""); g.Len() != 1 || g.Key(0) != "" || i != 0 || !ok {
		t.Error("not one cell")
	}
	n := expand(t, Spec{Axes: []Axis{ints(t, "a", 3)}})
	if j := Join(g, n, nil); len(j.Members(j.GroupOf(0))) != 3 {
		t.Error("one consumer of all")
	}
	if j := Join(n, g, nil); len(j.Members(j.GroupOf(2))) != 1 || j.Groups() != 1 {
		t.Error("all consumers of one")
	}
}

func FuzzGrid(f *testing.F) {
	f.Add("1,2,x", "y", "1=2", int64(3), uint8(2))
	f.Add(`"a"`, "\x00,é", "{}", int64(-1), uint8(0))
	f.Fuzz(func(t *testing.T, a, b, inc string, seed int64, count uint8) {
		s := Spec{MaxCells: 10_000}
		for name, list := range map[string]string{"a": a, "b": b} {
			ax := Axis{Name: name}
			for _, text := range strings.Split(list, ",") {
				v := cty.StringVal(text)
				if n, err := cty.ParseNumberVal(text); err == nil {
					v = n
				}
				if x, err := NewValue(v); err == nil {
					ax.Values = append(ax.Values, x)
				}
			}
			s.Axes = append(s.Axes, ax)
		}
		if x, err := NewValue(cty.StringVal(inc)); err == nil {
			s.Include = []map[string]Value{{"a": x, "b": x}}
		}
		if count > 0 {
			s.Sample = &Sample{Count: int(count), Seed: seed}
		}
		g, ds := Expand(s)
		if !ds.HasErrors() {
			checkGrid(t, g)
		}
	})
}

func BenchmarkExpand1M(b *testing.B) {
	keep := Predicate{Axes: []string{"N", "lr"}, Keep: func(v []*Value) (bool, diag.List) { return v[0].Num < 99, nil }}
	s := Spec{Axes: []Axis{ints(b, "N", 100), ints(b, "lr", 10), ints(b, "seed", 1000)}, Where: []Predicate{keep}}
	for b.Loop() {
		expand(b, s)
	}
}

func BenchmarkKey(b *testing.B) {
	g := expand(b, Spec{Axes: []Axis{ints(b, "N", 100), ints(b, "lr", 10), ints(b, "seed", 1000)}})
	var buf []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf = g.AppendKey(buf[:0], i%g.Len())
	}
}

func BenchmarkIndex(b *testing.B) {
	g := expand(b, Spec{Axes: []Axis{ints(b, "N", 100), ints(b, "lr", 10), ints(b, "seed", 1000)}})
	key := g.Key(654_321)
	b.ReportAllocs()
	for b.Loop() {
		g.Index(key)
	}
}

func BenchmarkJoin100k(b *testing.B) {
	g := expand(b, Spec{Axes: []Axis{ints(b, "N", 100), ints(b, "seed", 1000)}})
	for b.Loop() {
		Join(g, g, nil)
	}
}
