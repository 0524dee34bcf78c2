package console

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
)

const campaign = `
variable "n" { default = 3 }
variable "token" {
  default   = "hunter2"
  sensitive = true
}
locals { twice = var.n * 2 }
phase "a" {
  grid { axes = { N = [384, 512] } }
  params = { steps = cell.N * 10 }
  job {
    name    = "a-${cell.N}"
    command = "run ${param.steps} ${output.x}"
    output "x" { path = "x${cell.N}.json" }
    metric "loss" {
      output = "x"
      json   = "/loss"
    }
  }
}
phase "b" {
  job {
    command = "plot ${input_file.xs}"
    input "xs" { from_all = phase.a.output.x }
  }
}
`

func loaded(t *testing.T) *lang.Campaign {
	t.Helper()
	c, ds := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(campaign)}, lang.LoadOptions{Dir: "/c", Schemas: map[string]offer.Schema{"local": local.Schema()}})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return c
}

// session runs a dialogue and returns what it printed and what it told.
func session(t *testing.T, view lang.View, c *lang.Campaign, in string) (out, told string, failed int) {
	t.Helper()
	var b, e bytes.Buffer
	s := Session{Campaign: c, View: view, Out: &b, Fail: func(l diag.List, _ []byte) {
		for _, d := range l {
			e.WriteString(d.String() + "\n")
		}
	}}
	failed, err := s.Run(context.Background(), strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), e.String(), failed
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	for in, want := range map[string]string{
		"1 + 2":                       "3",
		"11 * 0.001":                  "0.011",
		`"x${0.1 * 3}"`:               `"x0.3"`,
		"var.n":                       "3",
		"local.twice":                 "6",
		"local":                       "{\n  twice = 6\n}",
		"var.token":                   "(sensitive value)",
		`"x${var.token}"`:             "(sensitive value)",
		"[1,\n2]":                     "[1, 2]",
		"max(\n1,\n2\n)":              "2",
		"{ a = 1, \"b c\" = [] }":     "{\n  a = 1\n  \"b c\" = []\n}",
		"<<EOT\nx ${1}\nEOT":          `"x 1\n"`,
		`"$${HOME}"`:                  `"$${HOME}"`,
		"null":                        "null",
		"# a remark":                  "",
		"":                            "",
		"phase.a.metric.loss":         "{\n  \"N=384\" = 0.5\n}",
		"phase.a.output.x":            "{\n  \"N=384\" = \"x384.json\"\n}",
		"[for n in range(3) : n * n]": "[0, 1, 4]",
		"\"e\\u001b[1m\"":             `"e\u001b[1m"`,
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			view := lang.View{Results: map[string]lang.Completed{"a": {Done: 1, Total: 2, Metrics: map[string]map[string]string{"loss": {"N=384": "0.5"}}, Outputs: map[string]map[string]string{"x": {"N=384": "x384.json"}}}}}
			out, told, _ := session(t, view, c, in+"\n")
			if strings.TrimSuffix(out, "\n") != want || told != "" {
				t.Errorf("printed %q, told %q, want %q", out, told, want)
			}
		})
	}
}

func TestMistakesGoOn(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	for in, want := range map[string]string{
		"1 +":                        "Missing expression",
		"vra.n":                      `did you mean "var"`,
		"var.m":                      "Unknown var",
		"cell.N":                     "muster console ADDR",
		"upper(":                     "",
		"nope(1)":                    "nope",
		"1 / 0":                      "",
		`file("/nonexistent")`:       "nonexistent",
		strings.Repeat("[", 100_000): "",
		"\"a\xffb\"":                 "line 1: the byte 0xff is not valid UTF-8",
		"[\n\"\xc3\"]":               "line 2: the byte 0xc3 is not valid UTF-8",
	} {
		t.Run(in[:min(len(in), 20)], func(t *testing.T) {
			t.Parallel()
			out, told, failed := session(t, lang.View{}, c, in+"\n\n40 + 2\n")
			if out != "42\n" || !strings.Contains(told, want) || told == "" || failed != 1 {
				t.Errorf("printed %q, told %.300q, failed %d, want %q told and 42 printed", out, told, failed, want)
			}
		})
	}
}

func TestOfAJob(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	a := c.Phases[0]
	i, _ := a.Index("N=512")
	view := lang.View{Phase: a, Cell: i, Site: lang.Target{Workdir: "/w", Backend: "local.local"}, Metrics: map[string]string{"loss": "0.25"}}
	for in, want := range map[string]string{
		"cell.N": "512", "cell.key": `"N=512"`, "param.steps": "5120", "output.x": `"/w/x512.json"`, "metric.loss": "0.25", "metric.loss < 1": "true",
		`"${output.x}!"`: `"/w/x512.json!"`, "path.workdir": `"/w"`, "backend.type": `"local"`, "var.n": "3",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			if out, told, _ := session(t, view, c, in+"\n"); strings.TrimSpace(out) != want || told != "" {
				t.Errorf("printed %q, told %q, want %q", out, told, want)
			}
		})
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	if out, _, _ := session(t, lang.View{}, loaded(t), "1\nexit\n2\n"); out != "1\n" {
		t.Errorf("printed %q", out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := Session{Campaign: loaded(t), Out: &bytes.Buffer{}}
	r, w := io.Pipe()
	defer w.Close()
	if _, err := s.Run(ctx, r); err == nil {
		t.Error("an interrupted console ends without a word")
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]cty.Value{
		"(not known yet)": cty.UnknownVal(cty.String),
		"[]":              cty.EmptyTupleVal,
		"{}":              cty.EmptyObjectVal,
		"[null]":          cty.TupleVal([]cty.Value{cty.NullVal(cty.String)}),
		"[\n  [1],\n]":    cty.TupleVal([]cty.Value{cty.TupleVal([]cty.Value{cty.NumberIntVal(1)})}),
		"true":            cty.True,
	} {
		t.Run(want, func(t *testing.T) {
			if got := Format(v); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}
