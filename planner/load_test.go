package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// load makes a campaign of test phases through the language.
func load(t testing.TB, mod func(*lang.Campaign), specs ...phaseSpec) *lang.Campaign {
	t.Helper()
	var b strings.Builder
	b.WriteString("campaign \"test\" {}\n")
	for _, s := range specs {
		s.write(&b)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}, "ssh": {Type: "ssh"}}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, b.String())
	}
	finishLoad(c, mod, specs)
	return c
}

func (s phaseSpec) write(b *strings.Builder) {
	fmt.Fprintf(b, "phase %q {\n", s.name)
	seed, axis := "0", "seed"
	if s.sizes {
		axis = "n"
	}
	if len(s.seeds) > 0 {
		fmt.Fprintf(b, "  grid {\n    axes = { %s = [%s] }\n  }\n", axis, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.seeds)), ", "), "[]"))
		seed = "${cell." + axis + "}"
	}
	fmt.Fprintf(b, "  params = { lr = %q }\n  job {\n", s.lr)
	in := ""
	if s.input != "" {
		kind := "from"
		in = " --in ${input.x}"
		if s.all {
			kind, in = "from_all", " --list ${input_file.x}"
		}
		fmt.Fprintf(b, "    input \"x\" {\n      %s = phase.%s.output.out\n    }\n", kind, s.input)
	}
	fmt.Fprintf(b, "    command = \"train --seed %s --lr ${param.lr}%s --out ${output.out}\"\n", seed, in)
	fmt.Fprintf(b, "    output \"out\" {\n      path = \"out/%s_%s.txt\"\n    }\n", s.name, seed)
	wall := s.wall
	if wall == "" {
		wall = "1h"
	}
	fmt.Fprintf(b, "    resources {\n      cpus = 1\n      gpus = %d\n      walltime = %q\n    }\n  }\n", s.gpus, wall)
	if s.smoke {
		b.WriteString("  smoke {\n    params = { lr = \"0\" }\n    walltime = \"10m\"\n    cells = \"first\"\n  }\n")
	}
	if s.pilot {
		b.WriteString("  pilot { cells = \"first\" }\n")
	}
	b.WriteString("}\n")
}
