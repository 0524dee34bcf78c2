package systemtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// hostile are values of which some shell, or some protocol of lines, on the
// way to a job would make something else. FOLDER/owned appears where one of
// them runs as code.
var hostile = []string{
	`it's`, `say "hi"`, "two\nlines", "$(touch FOLDER/owned)", "`touch FOLDER/owned`", "$HOME", "-rf", "--", "a;touch FOLDER/owned", "a&&touch FOLDER/owned",
	`back\slash`, `trailing\`, "tab\there", "*", "?", "~", "#no comment", "!history", "%s%n", "größe 日本 🧪", " blanks around ", "|touch FOLDER/owned", ">FOLDER/owned", "<(touch FOLDER/owned)",
	"{a,b}", "a\rb", "'; touch FOLDER/owned; '", `"; touch FOLDER/owned; "`, "\u2028", "MUSTER_TOKEN=x", "..",
}

const hostileCampaign = `
campaign "hostile" {}
locals { values = jsondecode(file("values.json")) }
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/it's $(touch owned) größe"
}
grid "all" { axes = { value = local.values } }
grid "plain" { axes = { value = [for v in local.values : v if !can(regex("[\\x00-\\x1f\\x{2028}]", v))] } }
phase "values" {
  grid = grid.all
  place { candidates = [backend.ssh.lab] }
  params = { value = cell.value }
  job {
    command = ["sh", "-c", "printf '%s\\n' \"$1\" \"$VALUE\" \"$2\" > \"$3\"", "-", cell.value, param.value, output.x]
    env     = { VALUE = cell.value }
    output "x" {
      path   = "out/${cell.key}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
phase "words" {
  grid = grid.all
  place { candidates = [backend.ssh.lab] }
  job {
    command = "printf '%s\\n' ${shellquote(cell.value)} > ${shellquote(output.x)}"
    output "x" {
      path   = "words/${cell.key}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
phase "names" {
  grid = grid.plain
  place { candidates = [backend.ssh.lab] }
  job {
    name    = "-${cell.value}"
    command = "printf '%s\\n' ${shellquote(cell.value)} > ${shellquote(output.x)}"
    output "x" {
      path   = "names/-$${PWD} ${cell.value}/-x"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
`

// TestSystemSSHHostileValues: names of jobs, values of cells, paths and variables
// arrive in the job exactly as they were written, and none of them runs.
func TestSystemSSHHostileValues(t *testing.T) {
	// Requirement: ISO-05
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, hostileCampaign)
	var values []string
	for _, v := range hostile {
		values = append(values, r.paths(v))
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	r.write("values.json", string(text))
	r.want(0, "", "apply", "-auto-approve")

	work := h.Path(r.paths("FOLDER/it's $(touch owned) größe"))
	r.arrived(filepath.Join(work, "out"), values, 3)
	r.arrived(filepath.Join(work, "words"), values, 1)
	plain := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.ContainsAny(v, "\n\r\t\u2028") })
	r.arrived(filepath.Join(work, "names"), plain, 1)
	if found := h.Exec("find / -xdev -name 'owned*' -type f -empty 2>/dev/null; true"); found != "" {
		t.Errorf("something ran as code: %s", found)
	}
}

// arrived holds that the files of a folder hold each value so many times, and
// nothing else.
func (r *remote) arrived(folder string, values []string, times int) {
	r.t.Helper()
	var want, got []string
	for _, v := range values {
		want = append(want, strings.Repeat(v+"\n", times))
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		got = append(got, string(text))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: got %q\nwant %q", filepath.Base(folder), got, want)
	}
}
