package aris

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/lang/expr"
)

// TestMistakes: what must be told, and where. A line "warning:" still gives a
// campaign, and one that loads.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string]string{
		"":           "error: Not a manifest",
		"- a\n- b\n": "error: Not a manifest",
		"c/a.yaml t\n\n# x\nc/b b.yaml t 10\nc/c.yaml t 5\n": `error: m.yaml:4: Not a queue line: "c/b b.yaml t 10": it is not two words, or two and a whole number of epochs.`,
		"c/a.yaml t\r\nc/b.yaml \"t u\" 1e2\r\n":             `error: m.yaml:2: Not a queue line`,
		"a.yaml t 7\nresnet t 20\n":                          "error: m.yaml:2: Not a queue line: \"resnet t 20\": resnet is not the path of a config: it has neither a folder nor an ending such as .yaml.",
		"hello there all of you\nthis is a letter\n":         "error: Not a manifest",
		"project: [a\n":                        "error: m.yaml:",
		"project: x\n":                         "error: m.yaml:1: The manifest holds no jobs",
		"jobs: []\n":                           "error: m.yaml:1: The manifest holds no jobs",
		"phases: []\n":                         "error: m.yaml:1: The manifest holds no jobs",
		"phases:\n- name: a\n":                 "error: m.yaml:2: A phase without jobs",
		"grid:\n  N: []\ntemplate: {cmd: x}\n": "error: m.yaml:2: The manifest holds no jobs",
		"grid:\n  N: [1]\n":                    "error: m.yaml:2: A grid without a template",
		"grid:\n  N: [1, 2, 1]\ntemplate: {cmd: 'x ${N}'}\n":                                                              "error: m.yaml:2: Duplicate value",
		"jobs:\n- {id: a, cmd: x}\n- {id: a, cmd: y}\n":                                                                   `error: m.yaml:3: Duplicate id: "a" is the id of the job in line 2`,
		"jobs:\n- {id: a, cmd: x}\n- {cmd: y}\n":                                                                          "warning: m.yaml:3: A job without an id: It is called job2 here",
		"jobs:\n- {id: 'a;b c', cmd: x}\n- {id: d, cmd: y}\n":                                                             "warning: m.yaml:2: An id with unsafe characters",
		"jobs:\n- {id: a}\n":                                                                                              "error: m.yaml:2: A job without a command",
		"jobs:\n- {id: a, cmd: x, gpu_count: 2}\n":                                                                        `warning: m.yaml:2: Unknown key: A job has no key "gpu_count"`,
		"max_paralel: 2\njobs: [{id: a, cmd: x}]\n":                                                                       `warning: m.yaml:1: Unknown key: A manifest has no key "max_paralel". Did you mean "max_parallel"?`,
		"max_parallel: many\njobs: [{id: a, cmd: x}]\n":                                                                   "error: m.yaml:1: Invalid max_parallel",
		"project: a\nproject: b\njobs: [{id: a, cmd: x}]\n":                                                               "error: m.yaml:2: Duplicate key",
		"grid: {N: [1]}\ntemplate:\n  id: s${M}\n  cmd: x ${N}\n":                                                         "error: m.yaml:3: Unresolved variable: Nothing gives ${M} in the id a value; the axes are N.",
		"grid: {N: [1]}\ntemplate:\n  cmd: x ${N}\n  output_check: o${NN}.json\n":                                         "error: m.yaml:4: Unresolved variable",
		"grid: {seed: [1]}\ntemplate:\n  cmd: x ${seed} ${sed}\n":                                                         "warning: m.yaml:3: Unresolved variable: Nothing gives ${sed} a value in the template of phase jobs, so it is left to the shell. Did you mean ${seed}?",
		"grid: {seed: [1]}\ntemplate:\n  cmd: x {seed} {sed}\n":                                                           "warning: m.yaml:3: Unresolved variable: Nothing gives {sed} a value",
		"grid: {N: [1, 2], s: [1, 2]}\ntemplate: {id: 'a${N}', cmd: 'x ${N} ${s}'}\n":                                     "warning: m.yaml:2: Duplicate id: The id names too few axes: 4 jobs of phase.jobs would share 2 ids",
		"phases:\n- name: a\n  depends_on: b\n  template: {cmd: x}\n- name: b\n  depends_on: [a]\n  template: {cmd: x}\n": "Phases wait for one another: a → b → a",
		"phases:\n- name: teachers\n  template: {cmd: x}\n- name: b\n  depends_on: techers\n  template: {cmd: x}\n":       `error: m.yaml:5: Unknown phase: There is no phase named "techers"; did you mean "teachers"?`,
		"phases:\n- {name: a, template: {cmd: x}}\n- {name: a, template: {cmd: x}}\n":                                     "error: m.yaml:3: Two phases with one name",
		"phases:\n- template: {cmd: x}\n":                                                                                 "warning: m.yaml:2: A phase without a name: It is called phase_0 here",
		"phases:\n- {name: a, jobs: [{id: x, cmd: x}]}\n- {name: b, jobs: [{id: x, cmd: x}]}\n":                           `warning: m.yaml:3: Duplicate id: "x" is the id of a job of phase.a, too`,
		"jobs:\n- {id: a, cmd: x, expected_output: /tmp/x.json}\n":                                                        "warning: m.yaml:2: An output outside the working directory",
		"jobs:\n- {id: a, cmd: x, expected_output: o}\n- {id: b, cmd: y, expected_output: o}\n":                           "",
		"jobs:\n- {id: a, cmd: x, expected_output: o}\n- {id: b, cmd: y}\n":                                               "",
		"preconditions: [{type: checkpoint_exists, path: 'c/{K}.pt'}]\njobs: [{id: a, cmd: x}]\n":                         "warning: m.yaml:1: Unresolved variable: Nothing gives {K} a value, so the precondition on c/{K}.pt is not carried over",
		"preconditions: [{type: disk_free, path: x}]\njobs: [{id: a, cmd: x}]\n":                                          "warning: m.yaml:1: Unknown type of precondition",
		"analyze_on_complete: true\njobs: [{id: a, cmd: x}]\n":                                                            "warning: m.yaml:1: The analysis is not carried over",
		"jobs: [{id: a, cmd: CUDA_VISIBLE_DEVICES=0 python x.py}]\n":                                                      "warning: m.yaml:1: The command chooses its own GPU",
		"grid: {n: [010, 1_000, 12:30]}\ntemplate: {cmd: 'x ${n}'}\n":                                                     `warning: m.yaml:1: YAML 1.1 reads this otherwise: 010 stays 010, as written. The queue's own reader made 8 of it`,
		"ssh: host; rm -rf\njobs: [{id: a, cmd: x}]\n":                                                                    "error: m.yaml:1: Invalid host",
		"ssh: 'ada@gpu-serv\\r'\njobs: [{id: a, cmd: x}]\n":                                                               "error: m.yaml:1: Invalid host",
		"ssh: ada@host -p 70000\njobs: [{id: a, cmd: x}]\n":                                                               "error: m.yaml:1: Invalid host",
		"ssh: a;b@host\njobs: [{id: a, cmd: x}]\n":                                                                        "error: m.yaml:1: Invalid host",
		"gpus: 4\njobs: [{id: a, cmd: x}]\n":                                                                              "error: m.yaml:1: Invalid gpus",
		"a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n" +
			"e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n": "error: ",
		`{"jobs": [{"id": "a", "cmd": "x"},]}`:                      "error: m.yaml:1: The manifest is not valid JSON",
		"{\"jobs\": [\n{\"id\": \"a\", \"cmd\": \"x\", \"x\": 1}]}": "warning: m.yaml:2: Unknown key",
		"{\"jobs\": [{\"id\": \"a\", \"cmd\": \"x":                  "error: m.yaml:1: The manifest is not valid JSON",
	} {
		t.Run(manifest, func(t *testing.T) {
			t.Parallel()
			out, ds := Convert("m.yaml", []byte(manifest), Options{})
			if got := said(ds); want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("said\n%swant\n%s", got, want)
			}
			if (out == nil) != ds.HasErrors() {
				t.Errorf("errors: %v, campaign: %q", ds.HasErrors(), out)
			}
			if out != nil {
				load(t, out)
			}
		})
	}
}

// TestWords: the words of a grid in a command.
func TestWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"42": "n = [42]", "-3": "n = [-3]", "+3": "n = [3]", "0.5": "n = [0.5]", "0.50": "n = [0.5]", "1e-4": `n = ["1e-4"]`, "1.0": `n = ["1.0"]`,
		"1.0e-5": `n = ["1e-05"]`, "010": `n = ["010"]`, "1_000": `n = ["1_000"]`, "on": `n = ["on"]`, "off": `n = ["off"]`, "yes": `n = ["yes"]`,
		"true": `n = ["True"]`, "False": `n = ["False"]`, "'64'": `n = ["64"]`, "null": `n = ["None"]`, "9007199254740993": `n = ["9007199254740993"]`,
		"a b": `n = ["a b"]`, "64": "n = [64]", "1e5": `n = ["1e5"]`, "0x1F": `n = ["0x1F"]`, "2024-01-02": `n = ["2024-01-02"]`,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			out, ds := Convert("m.yaml", []byte("grid: {n: ["+word+"]}\ntemplate: {cmd: 'x ${n}'}\n"), Options{})
			if !strings.Contains(string(out), want) {
				t.Errorf("%s%s\nwant %s", said(ds), out, want)
			}
		})
	}
}

// TestTextStaysItself: whatever the shell's text, the template means it.
func TestTextStaysItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("a${}%\"'\\ ~#\n\té"))).Draw(t, "text")
		if strings.HasSuffix(s, "\n") || s == "" {
			return
		}
		src := literal(s).hcl() + "\n"
		e, ds := hclsyntax.ParseConfig([]byte("x = "+src), "x", hcl.InitialPos)
		if ds.HasErrors() {
			t.Fatalf("%s: %s", src, ds)
		}
		v, more := expr.Eval(e.Body.(*hclsyntax.Body).Attributes["x"].Expr, nil)
		if more.HasErrors() {
			t.Fatalf("%s: %v", src, more)
		}
		if got := strings.TrimSuffix(v.AsString(), "\n"); got != s {
			t.Fatalf("%q became %q by\n%s", s, got, src)
		}
	})
}

// FuzzConvert: no manifest makes it panic, and what it writes loads.
func FuzzConvert(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, name := range files {
		if src, err := os.ReadFile(name); err == nil {
			f.Add(string(src))
		}
	}
	f.Add("grid: {N: [1]}\ntemplate: {id: 'a${N}', args: {seed: ${N}}, cmd: x}\n")
	f.Add(`{"phases": [{"name": "a", "jobs": [{"id": "x", "cmd": "y", "expected_output": "z"}]}]}`)
	f.Fuzz(func(t *testing.T, src string) {
		out, ds := Convert("m.yaml", []byte(src), Options{})
		if ds.HasErrors() {
			return
		}
		load(t, out, "host=x", "command=x")
	})
}
