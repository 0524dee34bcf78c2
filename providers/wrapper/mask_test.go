package wrapper

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
)

// TestTailsAreMasked: the secrets of a job, their lines and both in base 64 are
// masked in what it printed, wherever a reader cuts it, and nothing else is.
func TestTailsAreMasked(t *testing.T) {
	t.Parallel()
	const secret, key = "hunter2'; echo x", "-----BEGIN KEY-----\nabcdefgh\nijk\n"
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, Exports([]providers.EnvVar{{Name: "A", Value: secret}, {Name: "B", Value: key}, {Name: "C", Value: "ab"}, {Name: "D", Value: ""}}), 0o600); err != nil {
		t.Fatal(err)
	}
	m := ReadMask(path)
	for text, hidden := range map[string]bool{
		"token " + secret + "!": true, base64.StdEncoding.EncodeToString([]byte(secret)): true, "x abcdefgh y": true, key: true, "ab ijk": false, "hunter": false, "": false,
	} {
		if got := m.Text(text); (got != text) != hidden || len(got) != len(text) || strings.Contains(got, "hunter2'") || strings.Contains(got, "abcdefgh") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := m.Text("a" + secret + "b"); got != "a"+strings.Repeat("*", len(secret))+"b" {
		t.Errorf("%q", got)
	}
	log := []byte(strings.Repeat(strings.Repeat("-", 997)+secret+"\n", 700) + secret)
	want := bytes.ReplaceAll(log, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
	for _, step := range []int{1, 7, 4096, 1 << 20} {
		for _, from := range []int{0, 3, 1000, 1005} {
			var got bytes.Buffer
			at := int64(from)
			for n := from; ; n += max(step, len(log)/9) {
				n = min(n, len(log))
				more, err := m.Copy(&got, bytes.NewReader(log[:n:n]), at, n == len(log))
				if at += more; err != nil {
					t.Fatal(err)
				}
				if n == len(log) {
					break
				}
			}
			if !bytes.Equal(got.Bytes(), want[from:]) {
				t.Errorf("from %d by %d: %d bytes of %d, or other ones", from, step, got.Len(), len(want)-from)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.File(file); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("in place: %v", err)
	}
	if err := m.File(file + ".gone"); err != nil {
		t.Error(err)
	}
	none := ReadMask(path + ".gone")
	if got := none.Text(secret); got != secret {
		t.Errorf("without secrets: %q", got)
	}
}
