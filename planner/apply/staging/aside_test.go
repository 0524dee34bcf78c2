package staging

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is in the way of one that is pulled is moved aside, each time.
func TestOutOfTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	os.Mkdir(filepath.Join(dir, "out"), 0o755)
	for _, text := range []string{"one", "two"} {
		os.WriteFile(filepath.Join(dir, "out/a"), []byte(text), 0o644)
		if err := outOfTheWay(root, "out/a"); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{".muster-replaced/out/a": "one", ".muster-replaced/out/a.1": "two"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
			t.Errorf("%s holds %q", name, b)
		}
	}
	if err := outOfTheWay(root, "out/none"); err != nil {
		t.Error(err)
	}
}
