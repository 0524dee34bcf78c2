package login

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRecordsOfOneTickAreSeen: what is written after a look, within the same
// tick of a file server whose clock is behind, is seen by the next one.
func TestRecordsOfOneTickAreSeen(t *testing.T) {
	t.Parallel()
	c := &campaign{spool: t.TempDir(), seen: map[string]bool{}, dirs: map[string]folderSeen{}}
	dir := filepath.Join(c.spool, "ends")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tick := time.Now().Add(-time.Hour)
	for _, name := range []string{"a.0", "b.0"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, tick, tick); err != nil {
			t.Fatal(err)
		}
		if names, err := c.fresh("ends"); err != nil || len(names) != 1 || names[0] != name {
			t.Errorf("new are %q, %v; want %q", names, err, name)
		}
	}
}
