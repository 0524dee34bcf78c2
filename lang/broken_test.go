package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/diag"
)

var expectation = regexp.MustCompile(`# (ERROR|WARNING): ?([^#]*[^# ])?`)

// TestBroken compares all diagnostics of broken campaigns with the comments
// that stand where they are expected: none missing, none extra.
func TestBroken(t *testing.T) {
	// Requirement: DEP-08, DEP-09, ISO-01, WT-01
	t.Parallel()
	files, err := filepath.Glob("testdata/broken/*.muster.hcl")
	if err != nil || len(files) < 20 {
		t.Fatalf("fixtures: %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, ds := LoadFiles(map[string][]byte{"x.muster.hcl": src}, LoadOptions{Dir: t.TempDir(), Schemas: schemas, Version: "0.1.0"})
			compare(t, string(src), ds)
		})
	}
}

func compare(t *testing.T, src string, ds diag.List) {
	t.Helper()
	told := make([]bool, len(ds))
	for n, line := range strings.Split(src, "\n") {
	next:
		for _, m := range expectation.FindAllStringSubmatch(line, -1) {
			for i, d := range ds {
				if !told[i] && d.Subject != nil && d.Subject.Start.Line == n+1 && strings.ToUpper(d.Severity.String()) == m[1] && strings.Contains(d.Summary+": "+d.Detail, m[2]) {
					told[i] = true
					continue next
				}
			}
			t.Errorf("line %d: missing %s: %s", n+1, m[1], m[2])
		}
	}
	for i, d := range ds {
		if !told[i] {
			t.Errorf("not expected: %s %s", d.Severity, d)
		}
		if d.Summary == "" || strings.HasSuffix(d.Summary, ".") || d.Detail == "" {
			t.Errorf("form of %s", fmt.Sprintf("%q: %q", d.Summary, d.Detail))
		}
	}
}
