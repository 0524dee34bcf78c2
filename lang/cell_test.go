package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const teach = `
variable "token" {
  default   = "s3cret"
  sensitive = true
}
phase "train" {
  grid {
    axes   = { N = [384, 512], rep = [1, 2], lr = [11 * 0.001, "x y"] }
    repeat = ["rep"]
  }
  params = { steps = cell.N * 10, unread = 5, big = param.steps > 4000 }
  job {
    name    = "t${cell.N}-${cell.lr}-${cell.rep}"
    command = "train --lr ${shellquote(cell.lr)} --steps ${param.steps} ${param.big ? "--big" : ""} --key ${var.token} --out ${shellquote(output.model)} $${HOME}"
    env     = { B = "2", A = cell.N, DIR = path.workdir }
    setup   = "cd ${path.source}"
    image   = "img:${cell.N}"
    output "model" { path = "m/${cell.key}/model.pt" }
    output "parts" { glob = "m/${cell.key}/p-*/x.npz" }
  }
  smoke {
    params   = { steps = 1 }
    isolated = true
  }
  checkpoint { path = "ck/${cell.N}" }
}
`

func TestFields(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, teach).Phases[0]
	i, ok := p.Index("N=384,lr=0.011,rep=2")
	if !ok {
		t.Fatal("no such cell")
	}
	want := []Field{
		{Name: "command", Text: "train --lr 0.011 --steps 3840  --key ${var.token} --out ${shellquote(output.model)} $${HOME}"},
		{Name: "env.A", Text: "384"}, {Name: "env.B", Text: "2"}, {Name: "env.DIR", Text: "${path.workdir}"},
		{Name: "image", Text: "img:384"}, {Name: "setup", Text: "cd ${path.source}"},
		{Name: "param.big", Text: "false"}, {Name: "param.steps", Text: "3840"}, {Name: "axis.rep", Text: "2"},
	}
	if d := cmp.Diff(want, p.Fields(i, Run)); d != "" {
		t.Error(d)
	}
	smoke := maps.Collect(func(yield func(string, string) bool) {
		for _, f := range p.Fields(i, SmokeRun) {
			yield(f.Name, f.Text)
		}
	})
	if smoke["param.steps"] != "1" || !strings.Contains(smoke["command"], "--steps 1 ") {
		t.Errorf("smoke %v", smoke)
	}
	for _, v := range []Variant{Run, SmokeRun} {
		old, err := FieldsOf(p.Definition().JSON, p.Axes(i), v)
		if d := cmp.Diff(p.Fields(i, v), old); err != nil || d != "" {
			t.Errorf("stored fields of variant %d: %v %s", v, err, d)
		}
	}
	if strings.Contains(string(p.Definition().JSON), "s3cret") || strings.Contains(string(p.AppendResult(nil, i, Run)), "s3cret") {
		t.Error("a sensitive value is in the definition or the result's text")
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, teach).Phases[0]
	i, _ := p.Index(`N=512,lr="x y",rep=1`)
	if got, want := p.Address(i), `phase.train["N=512,lr=\"x y\",rep=1"]`; got != want {
		t.Errorf("address %s, want %s", got, want)
	}
	r, ds := p.Render(i, Target{Workdir: "/w", SourceDir: "/src", Backend: "ssh.lab"})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	// Without a source block the current directory is the workdir, also where somebody passes a
	// copy.
	if want := `train --lr 'x y' --steps 5120 --big --key s3cret --out '/w/m/N=512,lr="x y",rep=1/model.pt' ${HOME}`; r.Shell != want {
		t.Errorf("command\n%s, want\n%s", r.Shell, want)
	}
	if r.Label != "t512-x y-1" || r.Dir != "/w" || r.Setup != "cd /src" || r.Image != "img:512" || r.Checkpoint != "/w/ck/512" {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]EnvVar{{"A", "512"}, {"B", "2"}, {"DIR", "/w"}}, r.Env); d != "" {
		t.Error(d)
	}
	r, _ = p.Render(i, Target{Variant: SmokeRun, Workdir: "/w"})
	const dir = `.muster/smoke/train/N=512,lr=%22x%20y%22,rep=1/`
	if got := r.Outputs[0].Path; got != dir+`m/N=512,lr="x y",rep=1/model.pt` || r.Outputs[0].Abs != "/w/"+got || p.OutputPath(i, "model", SmokeRun) != got {
		t.Errorf("smoke's path %s", got)
	}
	if !strings.Contains(r.Shell, "--steps 1 ") || r.Checkpoint != "/w/"+dir+"ck/512" {
		t.Errorf("smoke %+v", r)
	}
}

func TestSmokeKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                         "_",
		"N=384,seed=1.5e-7":        "N=384,seed=1.5e-7",
		`a="x/y é"`:                "a=%22x%2Fy%20%C3%A9%22",
		strings.Repeat("x=1,", 25): strings.Repeat("x=1,", 25),
	} {
		if got := smokeKey(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
	long := smokeKey(strings.Repeat("x=1,", 26))
	if len(long) != 100 || long == smokeKey(strings.Repeat("x=1,", 27)) {
		t.Errorf("long key %q", long)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
phase "a" {
  grid { axes = { k = ["b", 10, 9] } }
  job {
    command = ["touch", output.o]
    output "o" { path = "a/${cell.k}" }
  }
}
phase "b" {
  job {
    command = ["cat", input.all, "--list=${input_file.all}", "and ${input.all}"]
    input "all" { from_all = phase.a.output.o }
    env = { P = backend.pool, G = backend.gpus }
  }
}`)
	b := c.Phases[1]
	in := b.Inputs[0]
	var keys []string
	for _, m := range in.Members(in.GroupOf(0)) {
		keys = append(keys, in.From.Key(m))
	}
	if d := cmp.Diff([]string{"k=9", "k=10", "k=b"}, keys); d != "" {
		t.Error(d)
	}
	r, ds := b.Render(0, Target{Workdir: "/w", Spool: "/s", Pool: "aa100", GPUs: 2, Input: func(string) []string { return []string{"/x/1", "/x/2"} }})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if d := cmp.Diff([]string{"cat", "/x/1", "/x/2", "--list=/s/all.list", "and /x/1 /x/2"}, r.Argv); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string][]string{"all": {"/x/1", "/x/2"}}, r.InputFiles); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]EnvVar{{"G", "2"}, {"P", "aa100"}}, r.Env); d != "" {
		t.Error(d)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
backend "slurm" "a" {}
phase "p" {
  grid { axes = { N = [1, 2, 3], s = range(10) } }
  params = { mem = cell.N * 2 }
  place { candidates = [backend.slurm.a] }
  job {
    command = "x ${cell.N} ${cell.s}"
    options "slurm" { qos = cell.N == 3 ? "long" : "normal" }
    resources {
      memory   = "${param.mem > 2 ? 4 : 2}GiB"
      walltime = "1-12:00:00"
      gpu { memory = "16GiB" }
    }
  }
  smoke { walltime = "5m" }
}`)
	p := c.Phases[0]
	if n := len(p.Requests(Run)); n != 3 {
		t.Fatalf("%d requests", n)
	}
	for i := range p.Len() {
		r := p.Requests(Run)[p.RequestOf(i, Run)]
		N := p.Axes(i)["N"]
		mem, qos := int64(4<<30), `{"qos":"normal"}`
		if N == "1" {
			mem = 2 << 30
		}
		if N == "3" {
			qos = `{"qos":"long"}`
		}
		if s := r.Shape; s.Memory != mem || s.GPUs != 1 || s.CPUs != 1 || s.Nodes != 1 || s.Walltime.Hours() != 36 || s.GPU.Memory != 16<<30 || string(r.Options["slurm"]) != qos {
			t.Errorf("N=%s: %+v %s", N, r.Shape, r.Options)
		}
		smoke := p.Requests(SmokeRun)[p.RequestOf(i, SmokeRun)]
		if !smoke.Shape.Smoke || smoke.Shape.Walltime.Minutes() != 5 || smoke.Hash == r.Hash {
			t.Errorf("smoke %+v", smoke.Shape)
		}
	}
}

// TestNodesOfOptions: the requested nodes are priced. Options of a type on which
// the jobs never run do not count.
func TestNodesOfOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		places, rest, resources string
		run, smoke              [3]int // by cell
		err                     string
	}{
		"more than resources":  {"backend.slurm.a, backend.slurm.b", "", "nodes = 2", [3]int{2, 2, 3}, [3]int{2, 2, 3}, ""},
		"resources say none":   {"backend.slurm.a", "", "", [3]int{1, 2, 3}, [3]int{1, 2, 3}, ""},
		"another type besides": {"backend.slurm.a, backend.local.local", "", "", [3]int{}, [3]int{}, "It asks for 2 nodes, and resources for 1. On local.local the jobs get 1. Write nodes = 2 in resources, or let only backends of type slurm be candidates."},
		"and they agree":       {"backend.slurm.a, backend.local.local", "", "nodes = 3", [3]int{3, 3, 3}, [3]int{3, 3, 3}, ""},
		"an overflow besides":  {"backend.slurm.a", "overflow = [backend.local.local]", "", [3]int{}, [3]int{}, "On local.local the jobs get 1"},
		"GPUs go anywhere":     {"", "", "gpus = 1", [3]int{}, [3]int{}, "On local.local the jobs get 1"},
		"nothing goes there":   {"", "", "", [3]int{1, 1, 1}, [3]int{1, 1, 1}, ""},
		"a smoke elsewhere":    {"backend.slurm.a", "smoke", "", [3]int{1, 2, 3}, [3]int{1, 1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, smoke := "place {\n candidates = ["+c.places+"]\n "+c.rest+"\n}", "walltime = \"5m\""
			if c.rest == "smoke" {
				place, smoke = "place { candidates = ["+c.places+"] }", "place { candidates = [backend.local.local] }"
			}
			if c.places == "" {
				place = ""
			}
			camp, diags := load(t, `
backend "slurm" "a" {}
backend "slurm" "b" {}
phase "p" {
  grid { axes = { N = [1, 2, 3] } }
  `+place+`
  job {
    command = "x ${cell.N}"
    options "slurm" { nodes = cell.N }
    resources {
      walltime = "1h"
      `+c.resources+`
    }
  }
  smoke {
    `+smoke+`
  }
}`)
			if c.err != "" {
				if len(diags) != 1 || !strings.Contains(diags[0].Detail, c.err) {
					t.Errorf("%v", diags)
				}
				return
			}
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			p := camp.Phases[0]
			for i := range p.Len() {
				run, smoke := p.Requests(Run)[p.RequestOf(i, Run)], p.Requests(SmokeRun)[p.RequestOf(i, SmokeRun)]
				if run.Shape.Nodes != c.run[i] || smoke.Shape.Nodes != c.smoke[i] {
					t.Errorf("cell %d has %d nodes and its smoke %d, not %d and %d", i, run.Shape.Nodes, smoke.Shape.Nodes, c.run[i], c.smoke[i])
				}
			}
		})
	}
}

// TestOrderMeansNothing shuffles axes, values, blocks and spaces of a
// campaign and compares what determines each job's result.
func TestOrderMeansNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		axes := map[string][]string{}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "n", "seed"}), 1, 3, rapid.ID).Draw(t, "axes")
		for _, n := range names {
			axes[n] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "0.1*3", "\"x\"", "\"y z\"", "true"}), 1, 4, rapid.ID).Draw(t, n)
		}
		env := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C"}), 0, 3, rapid.ID).Draw(t, "env")
		write := func(label string) map[string]string {
			c, ds := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(shuffled(t, label, names, axes, env))}, LoadOptions{Dir: "/tmp", Schemas: schemas})
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			out := map[string]string{}
			p := c.Phases[len(c.Phases)-1]
			for i := range p.Len() {
				out[p.Address(i)] = string(p.AppendResult(nil, i, Run)) + fmt.Sprint(p.Requests(Run)[p.RequestOf(i, Run)].Hash)
			}
			out["definition"] = p.Definition().Digest
			return out
		}
		if d := cmp.Diff(write("first"), write("second")); d != "" {
			t.Fatal(d)
		}
	})
}

func shuffled(t *rapid.T, label string, names []string, axes map[string][]string, env []string) string {
	perm := func(list []string, what string) []string { return rapid.Permutation(list).Draw(t, label+what) }
	var ax, read []string
	for _, n := range perm(names, "axes") {
		ax = append(ax, fmt.Sprintf("%s = [%s]", n, strings.Join(perm(axes[n], n), ", ")))
	}
	for _, n := range slices.Sorted(slices.Values(names)) {
		read = append(read, "${cell."+n+"}")
	}
	var vars []string
	for _, e := range perm(env, "env") {
		vars = append(vars, e+" = \"v\"")
	}
	job := perm([]string{
		"command = \"run " + strings.Join(read, " ") + " ${param.p}\"",
		"env = {\n" + strings.Join(vars, "\n") + "\n}",
		"resources {\nmemory = \"1GiB\"\ncpus = 2\n}",
		"setup = \"s\"",
	}, "job")
	return "phase \"p\" {\n" + strings.Join(perm([]string{
		"grid { axes = { " + strings.Join(ax, ", ") + " } }",
		"params = { p = 3, q = 4 }",
		"job {\n" + strings.Join(job, "\n") + "\n}",
		"retry { on = [\"oom\"] }",
	}, "phase"), "\n") + "\n}\n"
}

// TestDifferentJobsDiffer holds the result's text to be injective: what moves
// between fields, or from a symbol to its spelling, changes it.
func TestDifferentJobsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, body := range []string{
		`command = "a"`, `command = ["a"]`, `command = ["a", "b"]`, `command = ["a b"]`, `command = "a b"`, `command = "[\"a\"]"`,
		"command = \"a\"\nsetup = \"b\"", "command = \"a\"\nimage = \"b\"", "command = \"b\"\nsetup = \"a\"",
		"command = \"a\"\nenv = { X = \"b\" }", "command = \"a\"\nenv = { X = \"b\", Y = \"\" }", "command = \"a\"\nenv = { XY = \"b\" }",
		`command = "a ${output.o}"`, `command = "a $${output.o}"`, `command = "a $$${output.o}"`, `command = "a ${path.workdir}/o"`,
		`command = "a ${param.x}"`, `command = "a 3"`,
		"command = \"a\"\nsetup = \"\"",
	} {
		c, ds := load(t, "phase \"p\" {\nparams = { x = 3 }\njob {\n"+body+"\noutput \"o\" { path = \"o\" }\n}\n}\n")
		if ds.HasErrors() {
			t.Errorf("%s: %s", body, ds)
			continue
		}
		text := string(c.Phases[0].AppendResult(nil, 0, Run))
		if other, ok := seen[text]; ok {
			t.Errorf("one text for\n%s\nand\n%s", body, other)
		}
		seen[text] = body
	}
}

func TestNotInTheResult(t *testing.T) {
	t.Parallel()
	const plain = "phase \"p\" {\nparams = { x = 3, unread = 1 }\njob {\ncommand = \"a ${param.x} ${output.o}\"\noutput \"o\" { path = \"o\" }\n}\n}\n"
	want := string(mustLoad(t, plain).Phases[0].AppendResult(nil, 0, Run))
	for name, src := range map[string]string{
		"label":         strings.Replace(plain, "job {", "job {\nname = \"other\"", 1),
		"output path":   strings.Replace(plain, `path = "o"`, `path = "elsewhere/o"`, 1),
		"verify":        strings.Replace(plain, `{ path = "o" }`, "{\npath = \"o\"\nverify = \"json\"\nmin_size = \"1MiB\"\n}", 1),
		"resources":     strings.Replace(plain, "job {", "job {\nresources { walltime = \"4h\" }", 1),
		"unread param":  strings.Replace(plain, "unread = 1", "unread = 2", 1),
		"phase's name":  strings.Replace(plain, `"p"`, `"q"`, 1),
		"local backend": plain + "backend \"local\" \"local\" {\nsetup = \"x\"\nworkdir = \"/w\"\nenv = { A = \"b\" }\n}\n",
		"secret":        strings.Replace(plain, "job {", "job {\nsecret \"S\" { env = \"S\" }", 1),
		"comment":       strings.Replace(plain, "job {", "# why\n  job   {", 1),
		"ignored env":   strings.Replace(plain, "job {", "lifecycle { ignore_changes = [env] }\njob {\nenv = { A = \"b\" }", 1),
	} {
		if got := string(mustLoad(t, src).Phases[0].AppendResult(nil, 0, Run)); got != want {
			t.Errorf("%s is in the result's text: %q, want %q", name, got, want)
		}
	}
}
