package atomicfile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func fills(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestAWrittenFileIsAnOrdinaryOne: whoever else may read what the umask leaves may
// read it, and what the path was before it stays.
func TestAWrittenFileIsAnOrdinaryOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	made, err := os.Create(at("made"))
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	mode := func(name string) fs.FileMode {
		fi, err := os.Lstat(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Mode()
	}
	for _, err := range []error{
		os.WriteFile(at("shared"), nil, 0o600), os.Chmod(at("shared"), 0o664),
		os.Symlink("shared", at("link")), os.Symlink("later", at("to nothing")), unix.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	heard := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(at("pipe"))
		heard <- string(text)
	}()
	for _, c := range []struct {
		name, lands string
		mode        fs.FileMode
	}{
		{"new", "new", mode("made")},
		{"shared", "shared", 0o664},
		{"link", "shared", 0o664},
		{"to nothing", "later", mode("made")},
	} {
		was, _ := os.Lstat(at(c.name))
		if err := Output(at(c.name), fills("of "+c.name)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if text, err := os.ReadFile(at(c.lands)); string(text) != "of "+c.name {
			t.Errorf("%s: %s holds %q, %v", c.name, c.lands, text, err)
		}
		if got := mode(c.lands); got != c.mode {
			t.Errorf("%s: %s has mode %s, want %s", c.name, c.lands, got, c.mode)
		}
		if was != nil && mode(c.name).Type() != was.Mode().Type() {
			t.Errorf("%s became %s", c.name, mode(c.name))
		}
	}
	if err := Output(at("pipe"), fills("through")); err != nil {
		t.Error(err)
	}
	if mode("pipe").Type() != fs.ModeNamedPipe {
		t.Fatalf("the pipe became %s", mode("pipe"))
	}
	if got := <-heard; got != "through" {
		t.Errorf("the pipe says %q", got)
	}
}

// TestAFileIsWholeOrAsItWas: what cannot be written to its end leaves nothing.
func TestAFileIsWholeOrAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Output(path, func(w io.Writer) error { io.WriteString(w, "half"); return io.ErrShortWrite }); err == nil {
		t.Error("no error")
	}
	text, _ := os.ReadFile(path)
	if all, err := os.ReadDir(dir); string(text) != "before" || len(all) != 1 || err != nil {
		t.Errorf("it holds %q beside %v, %v", text, all, err)
	}
}
