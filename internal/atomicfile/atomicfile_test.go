package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplacedWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second, longer", ""} {
		if err := Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, path); got != text {
			t.Errorf("%q after %q", got, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info, err)
	}
	if err := WriteCache(path, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	half := errors.New("half-way")
	err := Fill(path, 0o600, func(w io.Writer) error {
		w.Write([]byte("new"))
		return half
	})
	if !errors.Is(err, half) || contents(t, path) != "kept" {
		t.Errorf("%v, %q", err, contents(t, path))
	}
	if err := Write(filepath.Join(path, "beneath a file"), nil, 0o600); err == nil {
		t.Error("no error where the folder is a file")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
}
