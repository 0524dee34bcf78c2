package refresh

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
)

// What a plan can say of inputs that no phase makes, by what is at their path.
func TestRawFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, path string
		make       func(t *testing.T, dir string)
		want       string // of the error, "" for none
		files      string
	}{
		{"file", "a.csv", nil, "", "a.csv"},
		{"pattern", "*.csv", nil, "", "a.csv b.csv"},
		{"alternatives", "{a,c}.csv", nil, "", "a.csv"},
		{"nothing", "x/*.csv", nil, "matches no file", ""},
		{"missing", "x.csv", nil, "is not there", ""},
		{"folder", "sub", nil, "is a folder", ""},
		{"output", "out.txt", func(t *testing.T, dir string) { write(t, dir, "out.txt") }, "is an output of a phase", ""},
		{"pipe", "*.csv", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "p.csv"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file", ""},
		{"link outside", "*.csv", func(t *testing.T, dir string) { link(t, "/etc/passwd", dir, "l.csv") }, "leads outside", ""},
		{"link inside", "*.csv", func(t *testing.T, dir string) { link(t, "a.csv", dir, "l.csv") }, "", "a.csv b.csv l.csv"},
		{"loop of links", "**/a.csv", func(t *testing.T, dir string) { link(t, ".", dir, "sub/loop") }, "", "a.csv"},
		{"link to itself", "*.csv", func(t *testing.T, dir string) { link(t, "l.csv", dir, "l.csv") }, "l.csv cannot be followed", ""},
		{"links to one another", "l/*.csv", func(t *testing.T, dir string) { link(t, "m", dir, "l"); link(t, "l", dir, "m") }, "l/*.csv cannot be followed", ""},
		{"link to nothing", "*.csv", func(t *testing.T, dir string) { link(t, "gone", dir, "l.csv") }, "is not there", ""},
		{"another link to nothing", "*.csv", func(t *testing.T, dir string) { link(t, "gone", dir, "l.txt") }, "", "a.csv b.csv"},
		{"not UTF-8", "*.csv", func(t *testing.T, dir string) { write(t, dir, "\xff.csv") }, "not UTF-8", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "a.csv")
			write(t, dir, "b.csv")
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.make != nil {
				tc.make(t, dir)
			}
			text := `campaign "c" {}
phase "p" {
  job {
    command = "cat ${input_file.raw} > ${output.o}"
    input "raw" { path = "` + tc.path + `" }
    output "o" { path = "out.txt" }
    resources { walltime = "1m" }
  }
}
`
			c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(text)}, lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			withheld := func(string, string) error { return errors.New("nobody allowed it") }
			as := &answers{}
			r := &rawInputs{facts: &facts{Input: Input{Campaign: c, Reads: withheld}, digests: digests.Open("")}, answers: as, seen: result.Contents{}}
			r.here(t.Context())
			said := ""
			for _, d := range as.Diags {
				said += d.Detail
			}
			if tc.want == "" && said != "" || !strings.Contains(said, tc.want) {
				t.Errorf("said %q, want %q", said, tc.want)
			}
			var names []string
			for _, f := range r.seen["p"][0].Files[0] {
				names = append(names, f.Path)
				if f.Digest == "" {
					t.Errorf("%s has no digest", f.Path)
				}
			}
			if got := strings.Join(names, " "); got != tc.files {
				t.Errorf("files %q, want %q", got, tc.files)
			}
		})
	}
}

// TestManyFilesOfOneInput: a plan reads so many of them, and names the rest.
func TestManyFilesOfOneInput(t *testing.T) {
	t.Parallel()
	var left within
	n := 0
	for left.takes(1) {
		n++
	}
	if n != mostAtOnce {
		t.Errorf("%d files are read", n)
	}
	left = within{}
	if left.takes(readAtOnce+1) || !left.takes(readAtOnce) || left.takes(1) {
		t.Error("bytes are not bounded")
	}
}

func write(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
