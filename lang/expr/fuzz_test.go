package expr

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
)

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`"${cell.N} ${output.log}"`, `[for x in input.all: x if cell.N > 1]`, `cell.m.layers`, `null || true`, `try(local.x, 1)`, `"%{ for a in [1] }${a}%{ endfor }"`,
		`input.all[*].x`, `{ (cell.N) = output.log }`, `param.a`, `cell`, `join(",", local.list...)`, `templatefile("x", {})`, `-"x"`, `local.list[cell.N]`, `"$${x}${"$"}${output.log}"`} {
		f.Add(s)
	}
	g := func(t testing.TB) *grid.Grid { return newGrid(t, small) }
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 2000 || syntax.CheckText([]byte(src)) != nil || strings.Contains(src, "file") || strings.Contains(src, "path") {
			return
		}
		e, hds := hclsyntax.ParseExpression([]byte(src), "f.hcl", hcl.InitialPos)
		if hds.HasErrors() {
			return
		}
		sc := scope(t, g(t), map[string]string{"a": `"${cell.N}-${output.log}"`, "b": "param.b"})
		tm, ds := Compile(e, sc)
		ds.Append(tm.Errors()...)
		text := tm.Text(0)
		tm.Render(0, func(string, string) (cty.Value, bool) { return cty.StringVal("v"), true })
		dec, err := DecodeText(tm.Encode(), axesOf(sc.Grid, 0))
		if !ds.HasErrors() && (err != nil || dec != text) {
			t.Errorf("%s: stored text %q, %v; want %q", src, dec, err, text)
		}
		Where(e, sc.Static, sc.Grid.Axes)
	})
}
