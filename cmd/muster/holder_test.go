package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/state/store/file"
)

// TestRequestOutlivesItsHolder: whoever holds the state ends without an answer, as an apply does
// whose last job has ended, or another command: the request is then done all the same.
func TestRequestOutlivesItsHolder(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"hold": {"hold"}, "note": {"note", "phase.a", "look"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := sessionDir(t)
			r := &applied{t: t, dir: filepath.Join(root, "c"), env: append(os.Environ(), append(sessionEnv(root), "CI=true")...)}
			if err := os.MkdirAll(r.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			r.write("campaign.muster.hcl", `campaign "held" {}
phase "a" {
  job {
    command = "true"
    resources { walltime = "1m" }
  }
}
`)
			s, err := file.Open(r.dir, file.Options{})
			if err != nil {
				t.Fatal(err)
			}
			session, err := s.Acquire(t.Context(), "apply", 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd := r.command(args...)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r.until("it asks the holder", func() bool {
				asked, _ := filepath.Glob(filepath.Join(r.dir, ".muster", "requests", "*.request.json"))
				return len(asked) == 1
			})
			if err := session.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out.String())
			}
			if left, _ := filepath.Glob(filepath.Join(r.dir, ".muster", "requests", "*")); len(left) > 0 {
				t.Errorf("files are left: %q", left)
			}
			if text, code := r.muster("plan"); name == "hold" && (code != 0 || !strings.Contains(text, "held")) || name == "note" && !strings.Contains(text, "look") {
				t.Errorf("plan: %d\n%s", code, text)
			}
		})
	}
}
