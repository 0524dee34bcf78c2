package preview

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

func campaign(t *testing.T, src string) *lang.Campaign {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

// What is shown can be pasted into a shell: it does as the job would.
func TestScriptsRun(t *testing.T) {
	dir := t.TempDir()
	c := campaign(t, `campaign "c" {}
backend "local" "local" { workdir = "`+dir+`" }
phase "say" {
  grid { axes = { word = ["a b", "it's"] } }
  job {
    command = ["printf", "%s|", cell.word]
    env     = { WORD = cell.word }
  }
}
`)
	p := c.Phases[0]
	pp := &planner.PhasePlan{Phase: p, Kind: []planner.Kind{planner.None, planner.Run}, Placements: []place.Decision{{}, {Backend: "local.local"}}, Place: []uint16{0, 1}}
	text, diags, err := Preview{Campaign: c, Plan: &planner.Plan{Phases: []*planner.PhasePlan{pp}}}.Scripts()
	if err != nil || diags.HasErrors() {
		t.Fatal(err, diags)
	}
	if n := strings.Count(text, "# "); n != 1 {
		t.Errorf("%d jobs start, want 1:\n%s", n, text)
	}
	out, err := exec.Command("sh", "-c", text).CombinedOutput()
	if err != nil || string(out) != "it's|" {
		t.Errorf("%v, printed %q, of\n%s", err, out, text)
	}
}

// TestFoldersOfScripts: a workdir is a word of the shell whatever it holds, and a
// job without a place, whose folder is not known, goes to none.
func TestFoldersOfScripts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, workdir := range map[string]string{
		"plain": home + "/plain", "with spaces": home + "/my work; false", "with a quote": home + "/it's", "at home": "~/my work", "home": "~", "nowhere": "",
	} {
		t.Run(name, func(t *testing.T) {
			full := strings.Replace(workdir, "~", home, 1)
			at := place.Decision{Backend: "local.local"}
			if workdir == "" {
				at, full = place.Decision{}, home
			}
			if err := os.MkdirAll(full, 0o700); err != nil {
				t.Fatal(err)
			}
			c := campaign(t, "campaign \"c\" {}\nbackend \"local\" \"local\" { workdir = \""+workdir+"\" }\nphase \"p\" {\n  job { command = [\"pwd\", \"-P\"] }\n}\n")
			pp := &planner.PhasePlan{Phase: c.Phases[0], Kind: []planner.Kind{planner.Run}, Placements: []place.Decision{{}, at}, Place: []uint16{1}}
			text, diags, err := Preview{Campaign: c, Plan: &planner.Plan{Phases: []*planner.PhasePlan{pp}}}.Scripts()
			if err != nil || diags.HasErrors() {
				t.Fatal(err, diags)
			}
			if workdir == "" && (strings.Contains(text, "cd ") || !strings.Contains(text, "no place yet")) {
				t.Errorf("a job without a place:\n%s", text)
			}
			sh := exec.Command("sh", "-ec", text)
			sh.Dir = home
			out, err := sh.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != full {
				t.Errorf("%v: it runs in %q, not %q\n%s", err, got, full, text)
			}
		})
	}
}

// TestHomeIsThatOfThePlace: ~ is shown as the jobs of a pool are told it.
func TestHomeIsThatOfThePlace(t *testing.T) {
	t.Parallel()
	c := campaign(t, "campaign \"c\" {}\nbackend \"local\" \"local\" { workdir = \"~/my work\" }\nphase \"p\" {\n  job { command = \"true\" }\n}\n")
	pp := &planner.PhasePlan{Phase: c.Phases[0], Kind: []planner.Kind{planner.Run}, Placements: []place.Decision{{}, {Backend: "local.local", Pool: "b"}}, Place: []uint16{1}}
	pools := []offer.Pool{{Backend: "local.other", Name: "b", Home: "/elsewhere"}, {Backend: "local.local", Name: "b", Home: "/home/ada"}}
	text, diags, err := Preview{Campaign: c, Plan: &planner.Plan{Phases: []*planner.PhasePlan{pp}}, Pools: pools}.Scripts()
	if err != nil || diags.HasErrors() || !strings.Contains(text, "cd '/home/ada/my work'\n") {
		t.Errorf("%v %v: %s", err, diags, text)
	}
	d := pp.Placements[1]
	d.Backend = "slurm.x"
	c.Backends = append(c.Backends, &lang.Backend{Type: "slurm", Name: "x", Workdir: "~/my work"})
	pp.Placements[1] = d
	v := Preview{Campaign: c, Plan: &planner.Plan{Phases: []*planner.PhasePlan{pp}}, Scripters: plugins.Scripters(c.Backends), Pools: []offer.Pool{{Backend: "slurm.x", Name: "b", Home: "/home/ada"}}}
	if got, _ := v.likes(pp); len(got) != 1 || got[0].job.Workdir != "/home/ada/my work" {
		t.Errorf("its folder in an array: %+v", got)
	}
}

// Element comes after like element only where each reads one, and no two the
// same.
func TestOneToOne(t *testing.T) {
	c := campaign(t, `campaign "c" {}
backend "local" "local" {}
phase "prep" {
  grid { axes = { i = [1, 2, 3] } }
  job {
    command = "true ${cell.i}"
    output "data" { path = "${cell.i}.npy" }
  }
}
phase "train" {
  grid { axes = { i = [1, 2, 3] } }
  job {
    command = "true ${cell.i} ${input.data}"
    input "data" { from = phase.prep.output.data }
  }
}
phase "all" {
  job {
    command = "true ${join(" ", input.data)}"
    input "data" { from_all = phase.prep.output.data }
  }
}
`)
	for _, p := range c.Phases {
		if len(p.Inputs) == 0 {
			continue
		}
		if got, want := oneToOne(p, p.Inputs[0]), p.Name == "train"; got != want {
			t.Errorf("phase.%s: %v", p.Name, got)
		}
	}
}
