// Package program writes programs that tests then run.
//
// A process that forks while another thread writes a program inherits the open
// file until it calls exec, and the kernel refuses to run a file that is open
// for writing ("text file busy", ETXTBSY, https://go.dev/issue/22315). This
// package holds [syscall.ForkLock] while the file is open, so that no process
// forks meanwhile.
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

// File is Write without a test. It never opens an old file at path, which may be
// running.
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
