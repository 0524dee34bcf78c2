// Package program is for tests that write programs and then run them.
//
// A process that is forked while another thread writes a program holds that
// file open for writing until it has turned into a program of its own, and the
// kernel runs nothing that anybody holds open for writing ("text file busy",
// ETXTBSY, https://go.dev/issue/22315). All here hold
// [syscall.ForkLock] while the file is open, so that nobody of this process is
// forked meanwhile.
package program

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write puts a program in the place of path, whose directory is there or is
// made: a script that begins with its interpreter, or a binary.
func Write[T string | []byte](t testing.TB, path string, text T) {
	t.Helper()
	if err := File(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Copy puts a copy of a program in the place of path.
func Copy(t testing.TB, from, path string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	Write(t, path, text)
}

// File is Write where there is no test at hand. What stands at path, which may
// be running, is never opened.
func File(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fresh := path + ".new"
	syscall.ForkLock.RLock()
	err := os.WriteFile(fresh, text, 0o755)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Rename(fresh, path)
	}
	return err
}
