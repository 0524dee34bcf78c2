package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestTornReads: what was read twice and was not the same, and what nobody
// would ask again, is told to nobody; nor is a question of another muster asked.
func TestTornReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	read := func(d Disk, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Text("x"); got != text {
			t.Fatal(got, err)
		}
	}
	d := Disk{Base: dir, Reads: &Reads{}}
	read(d, "one")
	read(d, "one")
	if q, _, err := d.Reads.Told(); err != nil || len(q) != 1 {
		t.Errorf("the same twice: %v, %v", q, err)
	}
	read(d, "two")
	if _, _, err := d.Reads.Told(); err == nil {
		t.Error("a file changed between two looks, and nothing is said")
	}
	d.Reads = &Reads{}
	for i := range mostQuestions + 1 {
		d.Home(fmt.Sprint(i))
	}
	if _, _, err := d.Reads.Told(); err == nil {
		t.Error("more questions than are asked again")
	}
	if _, err := AskAgain(Disk{Base: dir}, []Question{{Function: "filemode", Path: "x"}}); err == nil {
		t.Error("a question that nobody can ask")
	}
	_, _ = Disk{Base: dir}.Exists("x") // and without anybody who listens nothing breaks
}
