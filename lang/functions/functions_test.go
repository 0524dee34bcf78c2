package functions

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/value"
)

func TestFunctions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "hello", "t.tftpl": "%{ for x in list }${x * 0.001};%{ endfor }${upper(name)}", "sub/b.py": "", "raw.bin": "\xff", "deep.tftpl": "${" + strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500) + "}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &hcl.EvalContext{Functions: All(disk.Disk{Base: dir}, expr.Eval, nil)}
	for src, want := range map[string]string{
		`linspace(0, 1, 5)`:                       `[0,0.25,0.5,0.75,1]`,
		`linspace(0.1, 0.7, 7)`:                   `[0.1,0.2,0.3,0.4,0.5,0.6,0.7]`,
		`linspace(3, 9, 1)`:                       `[3]`,
		`logspace(-4, -1, 4)`:                     `[0.0001,0.001,0.01,0.1]`,
		`logspace(0, 1, 3)`:                       `[1,3.16227766016838,10]`,
		`seeds(3, 42)`:                            `[42,43,44]`,
		`range(0, 1, 0.25)`:                       `[0,0.25,0.5,0.75]`,
		`range(3, 0)`:                             `[3,2,1]`,
		`shellquote("it's")`:                      `"'it'\\''s'"`,
		`shellquote(["a b", 0.011, true, ""])`:    `"'a b' 0.011 true ''"`,
		`setproduct([1, 2], ["a"])`:               `[[1,"a"],[2,"a"]]`,
		`sum([0.1, 0.2])`:                         `0.3`,
		`file("a.txt")`:                           `"hello"`,
		`fileexists("a.txt") && !fileexists("b")`: `true`,
		`fileset(".", "**/*.py")`:                 `["sub/b.py"]`,
		`templatefile("t.tftpl", { list = [11], name = "x" })`:                   `"0.011;X"`,
		`templatefile("t.tftpl", { list = [], name = "x", "muster frame" = 1 })`: `"X"`, // a name of ours, which hides nothing
		`jsondecode("{\"a\": [1, null]}")`:                                       `{"a":[1,null]}`,
		`yamldecode("a: [1, 2.5, x]\nb:")`:                                       `{"a":[1,2.5,"x"],"b":null}`,
		`yamlencode({ a = [1, "x"], b = 11*0.001 })`:                             `"a:\n  - 1\n  - x\nb: 0.011\n"`,
		`csvdecode("a,b\n1,2")`:                                                  `[{"a":"1","b":"2"}]`,
		`base64decode(base64encode("é"))`:                                        `"é"`,
		`md5("")`:                                                                `"d41d8cd98f00b204e9800998ecf8427e"`,
		`substr(sha256(11*0.001), 0, 8) == substr(sha256("0.011"), 0, 8)`:        `true`,
		`join(",", [11*0.001, 1e-7, "x"])`:                                       `"0.011,1e-7,x"`,
		`format("%s %v %d", 11*0.001, 11*0.001, 7)`:                              `"0.011 0.011 7"`,
		`tostring(11*0.001)`:                                                     `"0.011"`,
		`upper(11*0.001)`:                                                        `"0.011"`,
		`replace("a/b", "/", "-")`:                                               `"a-b"`, // one stroke is no expression
		`seeds(0, 1)`:                                                            `[]`,
		`jsondecode("${join("", [for x in range(499) : "["])}${join("", [for x in range(499) : "]"])}") != null`: `true`,
		`jsondecode("[\"${join("", [for x in range(600) : "["])}\"]")[0] != ""`:                                  `true`,
		`replace("a.b", "/[.]/", "-")`:                              `"a-b"`,
		`regex("N=([0-9]+)", "N=384")`:                              `["384"]`,
		`try(local.x, 7)`:                                           `7`,
		`can(1 + "x")`:                                              `false`,
		`coalesce("", null, "x")`:                                   `"x"`,
		`lookup({ a = 1 }, "b", 2)`:                                 `2`,
		`merge({ a = 1 }, { b = 2 })`:                               `{"a":1,"b":2}`,
		`zipmap(["a"], [1])`:                                        `{"a":1}`,
		`min(values({ a = 3, b = 1 })...)`:                          `1`,
		`contains([0.011], 11*0.001)`:                               `true`,
		`distinct([0.011, 11*0.001])`:                               `[0.011]`,
		`duration("1h")`:                                            `3600`,
		`size("1KiB")`:                                              `1024`,
		`length("é") + length([1, 2]) + length({})`:                 `3`,
		`flatten([[1], [2, [3]]])`:                                  `[1,2,3]`,
		`formatdate("YYYY", timeadd("2026-12-31T23:00:00Z", "2h"))`: `"2027"`,
		`alltrue([true, false])`:                                    `false`,
		`anytrue([true, false])`:                                    `true`,
		`one([5])`:                                                  `5`,
		`index(["a", "b"], "b")`:                                    `1`,
		`11*0.001 == 0.011`:                                         `true`,
		`0.1 + 0.2 == 0.3`:                                          `true`,
		`true ? 11*0.001 : "x"`:                                     `"0.011"`,
		`{ (11*0.001) = 1 }`:                                        `{"0.011":1}`,
		`dirname("/a/b")`:                                           `"/a"`,
	} {
		t.Run(src, func(t *testing.T) {
			v, ds := expr.Eval(parse(t, src), ctx)
			if got := string(value.JSON(v)); ds.HasErrors() || got != want {
				t.Errorf("got %s, %v; want %s", got, ds.Err(), want)
			}
		})
	}
	for src, want := range map[string]string{
		`file("raw.bin")`: "not UTF-8",
		`jsondecode("${join("", [for x in range(501) : "["])}${join("", [for x in range(501) : "]"])}")`:        "nested",
		`jsondecode("${join("", [for x in range(501) : "{\"a\":"])}1${join("", [for x in range(501) : "}"])}")`: "nested",
		`format("%99999999d", 1)`:        "16 MiB",
		`file("nothing")`:                "there is no file nothing",
		`templatefile("deep.tftpl", {})`: "nested",
		`linspace(0, 1, 1e7)`:            "1000000",
		`linspace(0, 1, 2.5)`:            "whole number",
		`replace(join("", range(9000)), "1", join("", range(9000)))`: "16 MiB",
		`indent(1e9, "\n")`:   "16 MiB",
		`duration("90")`:      "no unit",
		`size("24G")`:         "24GiB",
		`yamldecode("[")`:     "YAML",
		`base64decode("_")`:   "base 64",
		`shellquote({})`:      "list of texts",
		`timestamp()`:         "no function",
		`uuid()`:              "no function",
		`range(0, 1, -1)`:     "step",
		`range(0, 1, 0)`:      "step",
		`"x${1e400 * 1e400}"`: "too large",
	} {
		t.Run(src, func(t *testing.T) {
			if _, ds := expr.Eval(parse(t, src), ctx); !ds.HasErrors() || !strings.Contains(ds.Err().Error(), want) {
				t.Errorf("got %v, want %s", ds.Err(), want)
			}
		})
	}
}

// Every spelling of a number is one number in every function and operator
// that can show it.
func TestOneNumberEverywhere(t *testing.T) {
	t.Parallel()
	ctx := &hcl.EvalContext{Functions: All(disk.Disk{Base: "."}, expr.Eval, nil)}
	rapid.Check(t, func(rt *rapid.T) {
		spelling := []string{"0.011", "11*0.001", "1.1e-2", "0.0011*10"}
		f := rapid.SampledFrom([]string{`"x${@}"`, `tostring(@)`, `jsonencode([@])`, `join("", [@])`, `format("%v", @)`, `upper(@)`, `md5(@)`, `sha256("a${@}")`,
			`shellquote(@)`, `yamlencode({a=@})`, `@ == 0.011`, `0.011 != @`, `{(@) = 1}`, `replace(@, ".", "")`, `split(".", @)`, `lookup({"0.011" = 2}, @, 3)`,
			`true ? @ : "x"`, `substr(@, 0, 9)`, `[for x in [@] : "<${x}>"]`, `length(tostring(@))`}).Draw(rt, "f")
		text := ""
		for _, s := range spelling {
			v, ds := expr.Eval(parse(t, strings.ReplaceAll(f, "@", s)), ctx)
			if ds.HasErrors() {
				rt.Fatal(f, ds.Err())
			}
			got := string(value.JSON(v))
			if text == "" {
				text = got
			}
			if got != text {
				rt.Fatalf("%s of %s is %s, not %s", f, s, got, text)
			}
		}
	})
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)\\(").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	for _, f := range catalogue(disk.Disk{Base: "."}, nil, nil) {
		if !strings.Contains(string(page), "| `"+signature(f)+"` | "+f.Doc+" |") {
			t.Errorf("docs/reference/functions.md lacks: | `%s` | %s |", signature(f), f.Doc)
		}
		delete(listed, f.Name)
	}
	for name := range listed {
		t.Errorf("docs/reference/functions.md lists %s, which does not exist", name)
	}
}

// signature is a function with its parameters, as "name(a, b…)".
func signature(f entry) string {
	sig := f.Name + "("
	for i, p := range f.impl.Params() {
		if i > 0 {
			sig += ", "
		}
		sig += p.Name
	}
	if v := f.impl.VarParam(); v != nil {
		if len(f.impl.Params()) > 0 {
			sig += ", "
		}
		sig += v.Name + "…"
	}
	return sig + ")"
}

func parse(t testing.TB, src string) hclsyntax.Expression {
	t.Helper()
	e, ds := hclsyntax.ParseExpression([]byte(src), "f.hcl", hcl.InitialPos)
	if ds.HasErrors() {
		t.Fatalf("%s: %v", src, ds)
	}
	return e
}
