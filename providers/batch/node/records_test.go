package node

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
	var r Records
	spool := t.TempDir()
	dir := filepath.Join(spool, "ends")
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
		if names, err := r.Fresh(Spool(spool), "ends"); err != nil || len(names) != 1 || names[0] != name {
			t.Errorf("new are %q, %v; want %q", names, err, name)
		}
	}
}
