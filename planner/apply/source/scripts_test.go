package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

func TestUnreadable(t *testing.T) {
	t.Parallel()
	const crlf = "echo 1\r\necho 2\r\n"
	for _, x := range []struct {
		name, by, text string
		want           bool
	}{
		{"a.sh", "", "#!/bin/bash\r\n" + crlf, true},
		{"a", "nice", "#!/usr/bin/env python3\r\n", true},
		{"a.py", "python3.11", "#!/usr/bin/env python3\r\n", false},
		{"a.py", "/opt/bin/python", "#!/usr/bin/env python3\r\n", false},
		{"a.sh", "bash", crlf, true},
		{"a.sh", "", "#!/bin/bash\n" + crlf, true},
		{"a.py", "", "#!/usr/bin/env python3\nprint(1)\r\n", false},
		{"a.sh", "", "#!/bin/bash\necho 1\n", false},
		{"a.py", "", "print(1)\r\n", false},
	} {
		if got := (script{Name: x.name, Path: x.name, By: x.by, text: []byte(x.text)}).Unreadable(); got != x.want {
			t.Errorf("%s by %q, %q: %v", x.name, x.by, x.text, got)
		}
	}
}

// TestCause: what a job did not find and this machine has is named, whatever the
// program says of it.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"train.py", "src/in.py", "src/left.txt", "made/out.csv", "pkg/__init__.py", "weird name.txt"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const copied = "/w/.muster/source/0123456789abcdef0123456789abcdef/"
	for _, x := range []struct{ source, line, want string }{
		{`include = ["src/in.py"]`, "python3: can't open file '" + copied + "train.py': [Errno 2] No such file or directory", "train.py is in the campaign's folder, but not in its source: add it to include"},
		{`include = ["src/in.py"]`, "ModuleNotFoundError: No module named 'train'", "train.py is in the campaign's folder"},
		{`include = ["src/in.py"]`, "ModuleNotFoundError: No module named 'pkg.sub'", "pkg is in the campaign's folder"},
		{`include = ["src/in.py"]`, "Error: cannot open file 'src/left.txt': No such file", "src/left.txt is in the campaign's folder"},
		{`include = ["src/in.py"]`, "cat: src/in.py: No such file or directory", ""}, // it is in the source: something else is wrong
		{`include = ["src/in.py"]`, "ModuleNotFoundError: No module named 'torch'", ""},
		{`include = ["src/in.py"]`, "cat: made/out.csv: No such file or directory", "is an output of the campaign"},
		{`include = ["src/in.py"]`, "train.py says 3", ""},
		{`exclude = ["*.py"]`, "python3: can't open file 'train.py'", "exclude leaves it out"},
		{`dir = "src"`, "sh: 1: ./train.py: not found", "not in its source, which begins below, in src"},
		{"", "sh: 1: ./train.py: not found", "but the job ran in /w. To bring it there: source { include = [\"train.py\"] }"},
	} {
		block := ""
		if x.source != "" {
			block = "source {\n" + x.source + "\n}\n"
		}
		c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + block + `phase "a" {
  job {
    command = "true ${output.y}"
    output "y" { path = "made/out.csv" }
  }
}
`)}, lang.LoadOptions{Dir: dir})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got := MissingFile(c, c.Phases[0], 0, "/w", &offer.Observation{Class: failure.MissingFile, Tail: []string{x.line, ""}})
		if x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%s, %q:\n%q, not %q", x.source, x.line, got, x.want)
		}
	}
}
