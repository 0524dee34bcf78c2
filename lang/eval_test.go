package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

func TestVariablePrecedence(t *testing.T) {
	t.Parallel()
	const decl = `
variable "x" { default = "default" }
phase "p" {
  job { command = "echo ${var.x}" }
}`
	dir := t.TempDir()
	file := filepath.Join(dir, "f.mustervars.hcl")
	if err := os.WriteFile(file, []byte("x = \"file\"\nnone = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"MUSTER_VAR_x=env", "MUSTER_VAR_other=1"}
	for _, c := range []struct {
		name, want string
		auto       bool
		o          LoadOptions
	}{
		{"default", "default", false, LoadOptions{}},
		{"env", "env", false, LoadOptions{Environ: env}},
		{"auto over env", "b", true, LoadOptions{Environ: env}},
		{"file over auto", "file", true, LoadOptions{Environ: env, VarFiles: []string{file}}},
		{"var over file", "var", true, LoadOptions{Environ: env, VarFiles: []string{file}, Vars: []string{"x=one", "x=var"}}},
		{"in order", "file", true, LoadOptions{CommandLine: []Assignment{{Var: "x=var"}, {File: file}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{"a.muster.hcl": []byte(decl)}
			if c.auto {
				files["a.auto.mustervars.hcl"] = []byte("x = \"a\"")
				files["b.auto.mustervars.hcl"] = []byte("x = \"b\"")
			}
			c.o.Dir, c.o.Schemas = dir, schemas
			got, ds := LoadFiles(files, c.o)
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			if cmd := got.Phases[0].Fields(0, Run)[0].Text; cmd != "echo "+c.want {
				t.Errorf("%s, want %s", cmd, c.want)
			}
			if usesFile := len(c.o.VarFiles)+len(c.o.CommandLine) > 0; usesFile != (len(ds) == 1) || usesFile && !strings.Contains(ds[0].Detail, `no variable "none"`) {
				t.Errorf("warnings %s", ds)
			}
		})
	}
}

func TestVariableTypes(t *testing.T) {
	t.Parallel()
	src := `
variable "n" { type = number }
variable "l" { type = list(string) }
variable "o" {
  type    = object({ a = number, b = optional(string, "bee") })
  default = { a = 1 }
}
variable "raw" {}
phase "p" {
  job { command = "echo ${var.n * 2} ${var.l[1]} ${var.o.b} ${var.raw}" }
}`
	c := mustLoad(t, src, func(o *LoadOptions) { o.Vars = []string{"n=1.5", `l=["x", "y"]`, "raw=[1,2"} })
	if got := c.Phases[0].Fields(0, Run)[0].Text; got != "echo 3 y bee [1,2" {
		t.Error(got)
	}
	_, ds := load(t, src, func(o *LoadOptions) { o.Vars = []string{"n=many", "l=[", "raw=", "raaw=3"} })
	var all []string
	for _, d := range ds {
		all = append(all, d.Detail)
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{`"n" cannot take the value from -var`, `"l" from -var is not an expression`, `did you mean "raw"?`} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %s in\n%s", want, text)
		}
	}
	if len(ds) != 3 {
		t.Errorf("%d diagnostics:\n%s", len(ds), text)
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	c, ds := load(t, `
variable "seeds" { type = list(number) }
variable "n" { type = number }
locals {
  m = var.n * 2
}
phase "p" {
  grid {
    axes  = { seed = var.seeds, N = [1, 2] }
    where = cell.seed > var.n
  }
  params = { x = local.m }
  job {
    command = "run ${cell.seed} ${cell.N} ${param.x} ${var.n} --out ${output.o}"
    output "o" { path = "o/${cell.seed}" }
    resources { memory = "${var.n}GiB" }
  }
  smoke { cells = [{ seed = 3 }] }
  precondition { condition = var.n > 3 }
}
phase "q" {
  job {
    command = "cat ${input.o} ${var.zzz}"
    input "o" { from_all = phase.p.output.o }
  }
}`, func(o *LoadOptions) { o.AllowUnknownVars = true })
	if len(ds) != 1 || !strings.Contains(ds[0].Detail, "zzz") {
		t.Errorf("diagnostics %s", ds)
	}
	for _, v := range c.Variables {
		if v.Known {
			t.Errorf("%s is known", v.Name)
		}
	}
}

func TestExpect(t *testing.T) {
	// Requirement: SM-14
	t.Parallel()
	p := mustLoad(t, `
phase "p" {
  grid { axes = { N = [1, 2] } }
  job {
    command = "x ${cell.N} ${output.o}"
    output "o" { path = "o${cell.N}" }
    metric "loss" {
      output = "o"
      json   = "/l"
    }
  }
  smoke {
    expect {
      condition = metric.loss < 100 * cell.N
      message   = "loss diverged"
    }
    expect { condition = metric.loss > 0 }
  }
}`).Phases[0]
	for metrics, want := range map[string][]string{
		"99.5": nil,
		"150":  {"loss diverged (metric.loss is 150)"},
		"-1":   {"expected (> metric.loss, 0) (metric.loss is -1)"},
		"":     {"loss diverged (metric.loss was not read)", "expected (> metric.loss, 0) (metric.loss was not read)"},
	} {
		in := map[string]string{"loss": metrics}
		if metrics == "" {
			in = nil
		}
		if d := cmp.Diff(want, p.CheckExpect(0, SmokeRun, in)); d != "" {
			t.Errorf("%s: %s", metrics, d)
		}
	}
	if got := p.CheckExpect(0, SmokeRun, map[string]string{"loss": `"NaN"`}); len(got) != 2 {
		t.Errorf("not a number: %q", got)
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, `
phase "p" {
  grid { axes = { N = [1, 2] } }
  job { command = "x ${cell.N}" }
  precondition {
    condition = cell.N < 2
    message   = "N is too large"
  }
  precondition {
    file     = "base${cell.N}.pt"
    min_size = "1KiB"
  }
}`).Phases[0]
	if ds := p.CheckPreconditions(0); len(ds) > 0 {
		t.Error(ds)
	}
	if ds := p.CheckPreconditions(1); len(ds) != 1 || ds[0].Detail != "N is too large" || ds[0].Address != `phase.p["N=2"]` {
		t.Error(ds)
	}
	r, _ := p.Render(1, Target{Workdir: "/w"})
	if d := cmp.Diff([]RenderedPrecondition{{Path: "/w/base2.pt", MinSize: 1024}}, r.Files); d != "" {
		t.Error(d)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
phase "p" {
  grid { axes = { N = [1, 2] } }
  job {
    command = "x ${cell.N} ${output.o}"
    output "o" { path = "o${cell.N}" }
    metric "loss" {
      output = "o"
      json   = "/l"
    }
  }
}
phase "one" {
  job {
    command = "x ${output.o}"
    output "o" { path = "one" }
    metric "m" {
      output = "o"
      json   = "/m"
    }
  }
}
result "best" { value = min(values(phase.p.metric.loss)...) }
result "by_key" { value = phase.p.metric.loss["N=2"] }
result "both" { value = { m = phase.one.metric.m, o = phase.one.output.o, n = length(phase.p.output.o) } }
result "bad" { value = phase.p.metric.loss["N=3"] }
result "fixed" { value = 1 + 1 }
`)
	done := map[string]Completed{
		"p":   {Metrics: map[string]map[string]string{"loss": {"N=1": "0.30000000000000004", "N=2": "0.5"}}, Outputs: map[string]map[string]string{"o": {"N=1": "o1", "N=2": "o2"}}, Done: 2, Total: 2},
		"one": {Metrics: map[string]map[string]string{"m": {"": `[1, "x"]`}}, Outputs: map[string]map[string]string{"o": {"": "one"}}, Done: 1, Total: 1},
	}
	got := map[string]string{}
	for _, v := range c.EvalResults(done) {
		got[v.Name] = v.JSON + v.Error
	}
	if !strings.Contains(got["bad"], "index") {
		t.Errorf("bad: %q", got["bad"])
	}
	delete(got, "bad")
	want := map[string]string{"best": "0.30000000000000004", "by_key": "0.5", "both": `{"m":[1,"x"],"n":2,"o":"one"}`, "fixed": "2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	half := c.EvalResults(map[string]Completed{"p": {Done: 1, Total: 2}})
	if v := half[0]; v.Known || v.Done != 1 || v.Total != 2 || v.JSON != "" {
		t.Errorf("%+v", v)
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
policy {
  rule {
    when = shape.gpus > 0 && shape.walltime <= duration("1h") && !urgent && jobs < 10
    use  = "cheapest_soonest"
  }
}
phase "p" {
  job { command = "x" }
}`)
	r := c.Policy.Rules[0]
	s := RuleScope{Shape: offer.Shape{GPUs: 1, Walltime: time.Hour}, Jobs: 3}
	if ok, ds := r.When(s); !ok || len(ds) > 0 {
		t.Error(ok, ds)
	}
	s.Urgent = true
	if ok, _ := r.When(s); ok {
		t.Error("urgent")
	}
}

func TestBackendConfig(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
variable "acc" {
  default   = "a1"
  sensitive = true
}
backend "slurm" "x" {
  account = var.acc
  poll    = "1m30s"
  hold    = "10m"
  price   = { usd_per_gpu_hour = 1.10, granularity = "1s" }
  ssh { host = "h" }
}
backend "ssh" "y" {
  host         = "h"
  gpus         = [0, 1]
  gpu_free_max = "500MiB"
}
phase "p" {
  job { command = "x" }
}`)
	var got []string
	for _, b := range c.Backends {
		got = append(got, b.Address()+" "+string(b.Config))
	}
	want := []string{"local.local {}", `slurm.x {"account":"a1","poll":90,"ssh":{"host":"h"}}`, `ssh.y {"gpu_free_max":524288000,"gpus":[0,1],"host":"h"}`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	x := c.Backends[1]
	if x.Price.USDPerGPUHour != "1.1" || !x.Price.Known || x.Price.Granularity != time.Second || x.Hold != 10*time.Minute || len(x.Sensitive) != 1 || x.Sensitive[0] != "/account" {
		t.Errorf("%+v", x)
	}
	if !c.Backends[0].Implied || c.Backends[0].Price.Known {
		t.Errorf("%+v", c.Backends[0])
	}
}

func TestSourceNarrows(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
source {
  include = ["**/*.py", "configs"]
  exclude = ["**/old"]
}
phase "p" {
  source { include = ["train.py", "configs/a/**", "data.csv"] }
  job { command = "x" }
}
phase "q" {
  job { command = "x" }
}`)
	p, q := c.Phases[0].Source, c.Phases[1].Source
	if q != c.Source || p.Key() == q.Key() {
		t.Error("the campaign's source counts where a phase has none")
	}
	for file, want := range map[string][2]bool{
		"train.py": {true, true}, "sub/x.py": {false, true}, "configs/a/b.yaml": {true, true}, "configs/b": {false, true},
		"data.csv": {false, false}, "old/x.py": {false, false}, "configs/a/old/x": {false, false},
	} {
		if p.Has(file) != want[0] || q.Has(file) != want[1] {
			t.Errorf("%s: phase %v, campaign %v; want %v", file, p.Has(file), q.Has(file), want)
		}
	}
}

func TestGates(t *testing.T) {
	// Requirement: SM-03
	t.Parallel()
	c := mustLoad(t, `
phase "p" {
  grid { axes = { N = [1, 2], k = ["a", "b"] } }
  job { command = "x ${cell.N} ${cell.k}" }
  smoke { cells = "ends" }
  pilot { cells = [{ N = 2 }, { N = "1", k = "b" }] }
}
phase "q" {
  grid { axes = { N = [1, 2] } }
  job { command = "y ${cell.N}" }
  smoke { cells = "all" }
  pilot {}
}`)
	p, q := c.Phases[0], c.Phases[1]
	if d := cmp.Diff([][]int{{0, 3}, {1, 2, 3}, {0, 1}, {0}}, [][]int{p.Smoke.Cells, p.Pilot, q.Smoke.Cells, q.Pilot}); d != "" {
		t.Error(d)
	}
}
