package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/needs"
)

// TestSystemSSHLoginShells: a user of the host may have any login shell, one that
// talks a lot included. Values arrive in jobs as they were written, jobs have
// the shell's environment, and nothing but jobs is run by it.
func TestSystemSSHLoginShells(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	for name, files := range map[string]map[string]string{
		"fish": {".config/fish/config.fish": "set -gx FROM_SHELL 'fish says $(touch owned)'\necho welcome; echo 'noise' >&2\n"},
		"tcsh": {".tcshrc": "setenv FROM_SHELL 'tcsh says $(touch owned)'\necho welcome\n"},
		"zsh":  {".zshenv": "export FROM_SHELL='zsh says $(touch owned)'\necho welcome\nsetopt nomatch extendedglob\n"},
		"dash": {".profile": "export FROM_SHELL='dash says $(touch owned)'\necho welcome\n"},
	} {
		t.Run(name, func(t *testing.T) {
			shell := needs.Program(t, name)
			r := newRemote(t, []*lab.Host{h}, strings.Replace(hostileCampaign, `campaign "hostile" {}`, `
campaign "hostile" {}
phase "shell" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "printf '%s\\n' \"$FROM_SHELL\" > ${shellquote(output.x)}"
    output "x" { path = "shell" }
    resources { walltime = "10m" }
  }
}
`, 1))
			h.Exec("sed -i 's#^alice:.*#alice:x:61101:61101::/home/alice:" + shell + "#' /etc/passwd")
			for path, text := range files {
				file := h.Path("/home/alice/" + path)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Remove(file) })
			}
			values := []string{"it's", `say "hi"`, "two\nlines", r.paths("$(touch FOLDER/owned)"), r.paths("`touch FOLDER/owned`"), "-rf", "!history", "größe 日本", `trailing\`, "~", "{a,b}", "*"}
			text, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			r.write("values.json", string(text))
			r.want(0, "", "apply", "-auto-approve")

			work := h.Path(r.paths("FOLDER/it's $(touch owned) größe"))
			r.arrived(filepath.Join(work, "out"), values, 3)
			r.arrived(filepath.Join(work, "words"), values, 1)
			r.arrived(filepath.Join(work, "names"), slices.DeleteFunc(values, func(v string) bool { return strings.Contains(v, "\n") }), 1)
			if got, err := os.ReadFile(filepath.Join(work, "shell")); string(got) != name+" says $(touch owned)\n" {
				t.Errorf("the environment is %q: %v", got, err)
			}
			if found := h.Exec("find / -xdev -name 'owned*' -type f -empty 2>/dev/null; true"); found != "" {
				t.Errorf("something ran as code: %s", found)
			}
		})
	}
}
