package lang

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// Where the files of an input are that no phase makes, and what is refused.
func TestRawInputBackend(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`path = "/data/*.bin"
		 backend = backend.far.x`: "",
		`path = "a.csv"`: "",
		`path = "a.csv"
		 backend = backend.local.local`: "Files of this machine need none",
		`path = "a.csv"
		 backend = backend.far.y`: "There is no backend.far.y",
		`path = "a.csv"
		 backend = "far"`: "There is no backend",
		`backend = backend.far.x`: "needs a producer",
		`from = phase.other.output.o
		 backend = backend.far.x`: "muster moves the outputs of phases by itself",
	} {
		c, ds := LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "far" "x" { workdir = "/w" }
phase "other" {
  job {
    command = "true > ${output.o}"
    output "o" { path = "o" }
  }
}
phase "p" {
  place { candidates = [backend.far.x] }
  job {
    command = "cat ${input_file.raw} > ${output.o}"
    input "raw" {
      ` + body + `
    }
    output "o" { path = "p" }
  }
}
`)}, LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "far": {Type: "far", Can: offer.Capabilities{Remote: true}}}})
		said := ""
		if ds.HasErrors() {
			said = ds.Err().Error()
		}
		if want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("%s\nsaid %q, want %q", body, said, want)
		}
		if want == "" && strings.Contains(body, "far") && c.Phases[1].Raw[0].Backend != "far.x" {
			t.Errorf("%s: backend %q", body, c.Phases[1].Raw[0].Backend)
		}
	}
}
