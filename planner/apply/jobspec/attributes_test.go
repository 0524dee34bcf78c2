package jobspec

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// samples are two values of an attribute, by its name or by its type.
var samples = map[string][2]string{
	"string": {`"x"`, `"y"`}, "number": {"2", "3"}, "size": {`"2GiB"`, `"3GiB"`}, "duration": {`"15m"`, `"20m"`}, "bool": {"true", "false"},
	"list(string)": {`["x"]`, `["y"]`}, "map(string)": {`{ A = "x" }`, `{ A = "y" }`}, "string or list(string)": {`"x"`, `["x"]`},
	"list(regular expression)": {`["x"]`, `["y"]`}, "regular expression": {`"(x)"`, `"(y)"`}, "JSON pointer": {`"/x"`, `"/y"`},
	"output": {"phase.made.output.x", "phase.also.output.x"}, "backend": {"backend.ssh.x", "backend.ssh.y"},
	"input.match": {`{ n = 1 }`, `{ n = 2 }`}, "metric.output": {`"x"`, `"y"`}, "output.verify": {`"json"`, `"csv"`}, "watch.on_stall": {`"cancel"`, `"tell"`},
	"job.launcher":     {`"srun"`, `"mpiexec"`},
	"input.require":    {`"50%"`, `"100%"`},
	"job.discard":      {`["tmp/a"]`, `["tmp/b/*"]`},
	"scratch.stage_in": {"[input.raw]", "[]"}, "scratch.stage_out": {"[output.x]", "[output.y]"},
}

// beside is the rest of a block beside an attribute, by its name or by the
// block.
var beside = map[string]string{
	"gpu": "", "resources": "", "secret": "", "job": `command = "run"`, "job.command": "", "watch": `stalled_after = "1h"`, "watch.stalled_after": "", "ready.match": `within = "1h"`, "ready.within": `match = "x"`,
	"input": `path = "in"`, "input.path": "", "input.from": "", "input.from_all": "", "input.match": `from = phase.made.output.x`, "input.require": `from_all = phase.made.output.x`,
	"output": `path = "z"`, "output.path": "", "output.glob": "", "output.dir": "", "output.min_count": `glob = "z/*"`,
	"metric": "output = \"x\"\njson = \"/x\"", "metric.output": `json = "/x"`, "metric.json": `output = "x"`, "metric.column": `output = "x"`, "metric.regex": `output = "x"`,
}

// Attributes that this test cannot see at work, and where they are.
var elsewhere = map[string]string{
	"input.path":    "the digest of its bytes is in the result hash: package result",
	"input.backend": "the digest is taken there, and files are moved from there: packages digests and staging",
}

// look is the outcome of a campaign with one value of an attribute.
type look struct {
	result  result.Hash
	request [16]byte
	job     *providers.Job
}

// Every attribute of the job block, and of the blocks in it, says which hash it is
// in, is in that one alone, and reaches the job that its backend gets.
func TestAttributesOfTheJobBlock(t *testing.T) {
	t.Parallel()
	var walk func(b *schema.Block)
	walk = func(b *schema.Block) {
		for _, a := range b.Attrs {
			name := b.Name + "." + a.Name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				attribute(t, b, a, name)
			})
		}
		for _, inner := range b.Blocks {
			walk(inner)
		}
	}
	walk(schema.Job)
}

func attribute(t *testing.T, b *schema.Block, a schema.Attr, name string) {
	if a.Hash == 0 {
		t.Fatalf("lang/schema does not say which hash %s is in: write Hash in its row", name)
	}
	if elsewhere[name] != "" {
		return
	}
	values, ok := samples[name]
	if !ok {
		values, ok = samples[a.Type]
	}
	if !ok {
		t.Fatalf("no values to try %s with: add two to samples", name)
	}
	siblings, ok := beside[name]
	if !ok {
		siblings = beside[b.Name]
	}
	was, is := lookAt(t, b.Name, a.Name, values[0], siblings), lookAt(t, b.Name, a.Name, values[1], siblings)
	if changed := was.result != is.result; changed != (a.Hash == schema.InResult) {
		t.Errorf("a change of %s changes the result hash: %v", name, changed)
	}
	if changed := was.request != is.request; changed != (a.Hash == schema.InRequest) {
		t.Errorf("a change of %s changes the request hash: %v", name, changed)
	}
	if cmp.Equal(was.job, is.job) {
		t.Errorf("%s is not in the job that a backend gets: planner/apply/jobspec does not pass it on", name)
	}
}

// lookAt loads a campaign in which an attribute of a block has a value.
func lookAt(t *testing.T, block, attr, value, siblings string) look {
	t.Helper()
	inner := fmt.Sprintf("%s\n%s = %s\n", siblings, attr, value)
	body := map[string]string{
		"job": inner, "gpu": "resources {\ngpus = 1\ngpu {\n" + inner + "}\n}", "ready": "watch {\nready {\n" + inner + "}\n}",
	}[block]
	if body == "" {
		body = block
		if slices.Contains([]string{"secret", "input", "output", "metric"}, block) {
			body += ` "A"`
		}
		body += " {\n" + inner + "}\n"
	}
	if block == "scratch" {
		body += "input \"raw\" {\npath = \"in\"\n}\n"
	}
	if block != "job" {
		body = "command = \"run\"\n" + body
	}
	source := `campaign "t" {}
backend "ssh" "x" {}
phase "made" {
  grid {
    axes = { n = [1, 2] }
  }
  job {
    command = "make ${cell.n}"
    output "x" {
      path = "made/${cell.n}"
    }
  }
}
phase "also" {
  job {
    command = "also"
    output "x" {
      path = "also/x"
    }
  }
}
phase "p" {
  grid {
    axes = { n = [1] }
  }
  job {
` + body + `
    output "x" {
      path = "own/x"
    }
    output "y" {
      path = "own/y"
    }
  }
}
`
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte(source)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "ssh": {Type: "ssh"}}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, source)
	}
	var out look
	h := result.New(result.Scheme, nil)
	var p *lang.Phase
	for _, p = range c.Phases { // producers come first
		out.result = h.Phase(p)[0]
	}
	request := p.Requests(lang.Run)[p.RequestOf(0, lang.Run)]
	out.request = request.Hash
	spec := NewSpec(c, p, nil, func(s lang.Secret) (string, error) { return fmt.Sprint(s.Env, s.Command, s.File), nil })
	site := lang.Target{Workdir: "/w", Input: func(name string) (paths []string) {
		for _, in := range p.Inputs {
			for _, m := range in.Members(in.GroupOf(0)) {
				paths = append(paths, in.From.OutputPath(m, in.Output, lang.Run))
			}
		}
		return paths
	}}
	out.job, _, diags = spec.Job(p, Launch{Address: "phase.p", Token: "token", Attempt: 1, Site: site, Shape: request.Shape, Segments: 1, Most: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return out
}
