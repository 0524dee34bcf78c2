package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/functions"
	"github.com/muster-run/muster/lang/grid"
)

func parse(t testing.TB, src string) hcl.Expression {
	t.Helper()
	e, ds := hclsyntax.ParseExpression([]byte(src), "test.hcl", hcl.InitialPos)
	if ds.HasErrors() {
		t.Fatalf("%s: %v", src, ds)
	}
	return e
}

func evaluated(t testing.TB, src string) cty.Value {
	t.Helper()
	v, ds := Eval(parse(t, src), &hcl.EvalContext{Functions: functions.All(disk.Disk{Base: t.TempDir()}, Eval, nil)})
	if ds.HasErrors() {
		t.Fatalf("%s: %v", src, ds.Err())
	}
	return v
}

// axes makes axes of HCL lists.
func axes(t testing.TB, lists map[string]string) []grid.Axis {
	t.Helper()
	var out []grid.Axis
	for name, src := range lists {
		a := grid.Axis{Name: name}
		for it := evaluated(t, src).ElementIterator(); it.Next(); {
			_, e := it.Element()
			v, err := grid.NewValue(e)
			if err != nil {
				t.Fatal(err)
			}
			a.Values = append(a.Values, v)
		}
		out = append(out, a)
	}
	return out
}

func newGrid(t testing.TB, lists map[string]string) *grid.Grid {
	t.Helper()
	g, ds := grid.Expand(grid.Spec{Axes: axes(t, lists)})
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	return g
}

func scope(t testing.TB, g *grid.Grid, params map[string]string) *Scope {
	s := &Scope{
		Grid: g,
		Static: &hcl.EvalContext{
			Functions: functions.All(disk.Disk{Base: t.TempDir()}, Eval, nil),
			Variables: map[string]cty.Value{
				"var":   cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("abc"), "token": cty.StringVal("hunter2")}),
				"local": cty.ObjectVal(map[string]cty.Value{"lr": cty.MustParseNumberVal("0.011"), "list": cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(3)})}),
			},
		},
		Params:    map[string]hcl.Expression{},
		Symbols:   map[string][]string{"output": {"log", "result"}, "input": {"teacher", "all"}, "path": {"workdir"}, "checkpoint": nil},
		Sensitive: func(root, name string) bool { return root == "var" && name == "token" },
	}
	for k, v := range params {
		s.Params[k] = parse(t, v)
	}
	return s
}

var small = map[string]string{"N": "[384, 512]", "lr": "[11*0.001, 1e-7]", "m": `[{ key = "big", layers = 12 }, { key = "small", layers = 2 }]`}

func TestAppendText(t *testing.T) {
	t.Parallel()
	params := map[string]string{
		"steps": "30000", "twice": "cell.N * 2", "deep": `"p${param.twice}"`, "out": `"${output.log}.gz"`, "obj": "cell.m",
	}
	// the text of the first cell: N=384, lr=1e-7, m=big
	for src, want := range map[string]string{
		`"plain"`: `plain`,
		`"a ${cell.N} ${param.steps} ${output.result}"`: `a 384 30000 ${output.result}`,
		`"${cell.key}"`:                `N=384,lr=1e-7,m=big`,
		`"${cell.m} ${cell.m.layers}"`: `big 12`,
		`cell.m`:                       `${{"key":"big","layers":12}}`,
		`param.obj`:                    `${{"key":"big","layers":12}}`,
		`cell["N"]`:                    `384`,
		`"x ${11*0.001} ${upper("x${11*0.001}")} ${local.lr}"`: `x 0.011 X0.011 0.011`,
		`param.deep`:                                     `p768`,
		`"${param.out}"`:                                 `${output.log}.gz`,
		`"$${HOME} $$ $HOME"`:                            `$${HOME} $$ $HOME`,
		`"${"$"}{x}"`:                                    `$${x}`,
		`"${"$"}${output.log}"`:                          `$$${output.log}`,
		`"${dirname(output.log)}"`:                       `${dirname(output.log)}`,
		`"${ dirname( output.log ) }"`:                   `${dirname(output.log)}`,
		`join(",",[output.log,cell.N, local.list[1]])`:   `${join(",", [output.log, 384, 3])}`,
		`[for x in input.all : "${x}-${cell.N}"]`:        `${(for  x in input.all: template(x, "-", "384"))}`,
		`"${var.token} ${upper(var.token)}"`:             `${var.token} ${upper(var.token)}`,
		`"${checkpoint}"`:                                `${checkpoint}`,
		`"${path.workdir}/x"`:                            `${path.workdir}/x`,
		`cell.N > 400 ? "big" : "small"`:                 `small`,
		`["a", cell.N]`:                                  `${["a",384]}`,
		`true`:                                           `true`,
		`null`:                                           `${null}`,
		`input.all[*].path`:                              `${(splat input.all, it.path)}`,
		`{ a = output.log, (cell.m.key) = 1 }`:           `${{"a": output.log, "big": 1}}`,
		`output.log == "x" ? cell.N : -1`:                `${(if (== output.log, "x"), 384, -1)}`,
		`"%{ if cell.N > 400 }yes%{ else }no%{ endif }"`: `no`,
		`"%{ for f in input.all }<${f}>%{ endfor }"`:     `${concatenation((for  f in input.all: template("<", f, ">")))}`,
		`format("%05d", cell.N)`:                         `00384`,
		`12345678901234567890123`:                        `12345678901234567890123`,
		`2.5e-7`:                                         `2.5e-7`,
		`1/3`:                                            `0.3333333333333333`,
		`1/3*3`:                                          `1`,
		`tostring(1e-7)`:                                 `1e-7`,
		`"${jsonencode({a=11*0.001})}"`:                  `{"a":0.011}`,
	} {
		t.Run(src, func(t *testing.T) {
			g := newGrid(t, small)
			tm, ds := Compile(parse(t, src), scope(t, g, params))
			ds.Append(tm.Errors()...)
			if ds.HasErrors() {
				t.Fatal(ds.Err())
			}
			for i := range g.Len() {
				got := tm.Text(i)
				if i == 0 && got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				dec, err := DecodeText(tm.Encode(), axesOf(g, i))
				if err != nil || dec != got {
					t.Errorf("cell %d: stored text %q, %v; want %q", i, dec, err, got)
				}
			}
		})
	}
}

func axesOf(g *grid.Grid, i int) map[string]string {
	m := map[string]string{}
	for a := range g.Axes {
		m[g.Axes[a].Name] = g.Value(i, a).Text
	}
	return m
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`"${cell.Ns}"`:     `the axes are N, lr, m`,
		`"${cell.seeds}"`:  `There is no axis named "seeds"`,
		`"${HOME}"`:        "write $${HOME}",
		`"${param.stepz}"`: `did you mean "steps"?`,
		`"${output.logs}"`: `did you mean "log"?`,
		`"${output}"`:      "Write output.NAME",
		`vars.x`:           `did you mean "var"?`,
		`var.nam`:          `did you mean "name"?`,
		`param.loop`:       "param.loop → param.pool → param.loop",
		`"x${local.list}"`: "string required",
		`nosuch(1)`:        "nosuch",
		`1 + "a"`:          "number",
		`null > 1`:         "null",
		`[for i in range(9000): [for j in range(9000): j]]`: "steps",
		`format("%99999999s", "")`:                          "16 MiB",
		`range(1e9)`:                                        "1000000",
		`setproduct(range(1000), range(1000))`:              "grid",
		`1/0`:                                               "infinite",
		`"x${null}"`:                                        "null",
		`file("/dev/zero")`:                                 "outside the campaign's folder",
	} {
		t.Run(src, func(t *testing.T) {
			tm, ds := Compile(parse(t, src), scope(t, newGrid(t, small), map[string]string{"steps": "1", "loop": "param.pool", "pool": "param.loop"}))
			ds.Append(tm.Errors()...)
			if !ds.HasErrors() || !strings.Contains(ds.Err().Error(), want) {
				t.Errorf("got %v, want %q", ds.Err(), want)
			}
			tm.Text(0) // and nothing panics
			tm.Encode()
			tm.Value(0)
			tm.Render(0, nil)
		})
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	_, ds := Compile(parse(t, `"${cell.seeds}"`), scope(t, newGrid(t, map[string]string{"seed": "[1]", "N": "[2]"}), nil))
	if got, want := ds[0].Detail, `There is no axis named "seeds"; did you mean "seed"?`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestErrorNamesTheCell(t *testing.T) {
	t.Parallel()
	tm, ds := Compile(parse(t, `100 / (cell.N - 512)`), scope(t, newGrid(t, small), nil))
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	ds = tm.Errors()
	if len(ds) != 1 || !strings.Contains(ds[0].Detail, "N=512") || len(ds[0].Values) != 1 {
		t.Errorf("got %+v", ds)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	lookup := func(root, name string) (cty.Value, bool) {
		switch root + "." + name {
		case "output.log":
			return cty.StringVal("/w/logs/a.json"), true
		case "input.all":
			return cty.ListVal([]cty.Value{cty.StringVal("/a"), cty.StringVal("/b c")}), true
		case "checkpoint.":
			return cty.StringVal("/ckpt"), true
		}
		return cty.NilVal, false
	}
	for src, want := range map[string]string{
		`"x ${cell.N} > ${output.log}"`:              "x 384 > /w/logs/a.json",
		`"cat ${input.all}"`:                         "cat /a /b c",
		`"cat ${shellquote(input.all)}"`:             "cat /a '/b c'",
		`dirname(output.log)`:                        "/w/logs",
		`"${checkpoint} ${var.token}"`:               "/ckpt hunter2",
		`"${param.cmd}"`:                             "run /w/logs/a.json",
		`"%{ for f in input.all }<${f}>%{ endfor }"`: "</a></b c>",
		`"${cell.m} $${HOME}"`:                       "big ${HOME}",
	} {
		t.Run(src, func(t *testing.T) {
			tm, ds := Compile(parse(t, src), scope(t, newGrid(t, small), map[string]string{"cmd": `"run ${output.log}"`}))
			if ds.HasErrors() {
				t.Fatal(ds.Err())
			}
			v, ds := tm.Render(0, lookup)
			if ds.HasErrors() || v.AsString() != want {
				t.Errorf("got %#v %v, want %q", v, ds.Err(), want)
			}
		})
	}
	tm, _ := Compile(parse(t, `output.result`), scope(t, newGrid(t, small), nil))
	if _, ds := tm.Render(0, lookup); !ds.HasErrors() {
		t.Error("an unknown symbol renders")
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	s := scope(t, newGrid(t, small), map[string]string{"a": "param.b", "b": `"${cell.lr}${output.log}"`})
	tm, ds := Compile(parse(t, `"${cell.N} ${param.a} ${var.token}"`), s)
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	got := fmt.Sprintln(tm.Axes(), tm.Params(), len(tm.Symbols()), tm.Sensitive()[0])
	if want := "[0 1] [a b] 2 var.token\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]int{
		`cell.N < 512`:                        4,
		`cell.N < 512 && cell.lr == 11*0.001`: 2,
		`cell.lr == 1.1e-2 || cell.N == 512`:  6,
		`"x${cell.lr}" == "x0.011"`:           4,
		`cell.m.layers > 5`:                   4,
		`contains([384], cell.N)`:             4,
		`true`:                                8,
	} {
		t.Run(src, func(t *testing.T) {
			ax := axes(t, small)
			w, ds := Where(parse(t, src), scope(t, nil, nil).Static, ax)
			if ds.HasErrors() {
				t.Fatal(ds.Err())
			}
			g, ds := grid.Expand(grid.Spec{Axes: ax, Where: w})
			if ds.HasErrors() || g.Len() != want {
				t.Errorf("%d cells, %v; want %d", g.Len(), ds.Err(), want)
			}
		})
	}
	for _, src := range []string{`cell.key == "x"`, `cell.M == 1`, `cell.N`, `1/(cell.N-384) > 0`, `null`} {
		t.Run(src, func(t *testing.T) {
			ax := axes(t, small)
			w, ds := Where(parse(t, src), scope(t, nil, nil).Static, ax)
			if !ds.HasErrors() {
				_, ds = grid.Expand(grid.Spec{Axes: ax, Where: w})
			}
			if !ds.HasErrors() {
				t.Error("no error")
			}
		})
	}
}

// Different contents never have the same canonical text: the text of pieces
// of literal, axis and symbol tells the pieces apart from any others.
func TestTextIsInjective(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"$", "{", "}", "a", "$$", "${", "output.log", "SYMBOL", "$${output.log}"}), 0, 8).Draw(rt, "pieces")
		var parts []hclsyntax.Expression
		content := ""
		for _, p := range pieces {
			if p == "SYMBOL" {
				parts = append(parts, parse(t, "output.log").(hclsyntax.Expression))
				content += "\x00"
			} else {
				parts = append(parts, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(p)})
				content += p
			}
		}
		tm, ds := Compile(&hclsyntax.TemplateExpr{Parts: parts}, scope(t, grid.Single(), nil))
		if ds.HasErrors() {
			rt.Fatal(ds.Err())
		}
		text := tm.Text(0)
		if old, ok := seen[text]; ok && old != content {
			rt.Fatalf("%q is the text of %q and of %q", text, old, content)
		}
		seen[text] = content
		if !strings.Contains(content, "\x00") && Unescape(text) != content {
			rt.Fatalf("Unescape(%q) = %q, want %q", text, Unescape(text), content)
		}
	})
}

func TestFastPathAllocatesNothing(t *testing.T) {
	s := scope(t, newGrid(t, map[string]string{"N": "range(20)", "seed": "range(50)", "lr": "[0.1, 0.01]"}), map[string]string{"p": "cell.N*2"})
	tm, ds := Compile(parse(t, `"run --n ${cell.N} --seed ${cell.seed} --lr ${cell.lr} ${param.p} ${format("%03d", cell.seed)} ${output.log} ${cell.key}"`), s)
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	buf := make([]byte, 0, 1024)
	i := 0
	if n := testing.AllocsPerRun(500, func() { buf = tm.AppendText(buf[:0], i%2000); i++ }); n != 0 {
		t.Errorf("%v allocations a cell", n)
	}
}

func TestBillionLaughs(t *testing.T) {
	t.Parallel()
	params := map[string]string{"p0": `"lololololo"`}
	for i := 1; i < 60; i++ {
		params[fmt.Sprintf("p%d", i)] = fmt.Sprintf(`"${param.p%d}${param.p%d}"`, i-1, i-1)
	}
	_, ds := Compile(parse(t, `param.p59`), scope(t, newGrid(t, small), params))
	if !ds.HasErrors() {
		t.Error("a text of 2^59 lines compiles")
	}
	params["p0"] = `"${output.log}"`
	_, ds = Compile(parse(t, `param.p59`), scope(t, newGrid(t, small), params))
	if !ds.HasErrors() {
		t.Error("an expression of 2^59 symbols compiles")
	}
}

func BenchmarkAppendText(b *testing.B) {
	s := scope(b, newGrid(b, map[string]string{"N": "range(100)", "seed": "range(1000)", "lr": "[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1]"}), nil)
	tm, ds := Compile(parse(b, `"python run.py --n ${cell.N} --seed ${cell.seed} --lr ${cell.lr} --out ${output.log}"`), s)
	if ds.HasErrors() {
		b.Fatal(ds.Err())
	}
	var buf []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf = tm.AppendText(buf[:0], i%s.Grid.Len())
	}
}

func BenchmarkPerCell(b *testing.B) {
	s := scope(b, newGrid(b, map[string]string{"N": "range(100)", "seed": "range(1000)"}), nil)
	tm, ds := Compile(parse(b, `format("%d-%d", cell.N, cell.seed)`), s)
	if ds.HasErrors() {
		b.Fatal(ds.Err())
	}
	var buf []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf = tm.AppendText(buf[:0], i%s.Grid.Len())
	}
}

func TestTemplatesAreSharedByGoroutines(t *testing.T) {
	t.Parallel()
	s := scope(t, newGrid(t, small), map[string]string{"p": "cell.N*2"})
	tm, ds := Compile(parse(t, `"${param.p} ${format("%d", cell.N)} ${[for x in local.list : "${x}${cell.key}"][0]} ${local.list[*][0]}"`), s)
	_ = ds
	want := tm.Text(0)
	done := make(chan string)
	for range 4 {
		go func() {
			for i := range 200 {
				tm.Text(i % s.Grid.Len())
				_, _ = tm.Value(i % s.Grid.Len())
			}
			done <- tm.Text(0)
		}()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
