// Package needs is for tests that want what a machine may lack: a program,
// root, a file system of a kind, minutes. In `make test` such a test is skipped
// with the reason; under MUSTER_SYSTEM_TESTS=1, which `make test-system` sets
// after it has installed what tests want, what is absent fails the test.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Here reports whether everything that a test may want is to be there.
func Here() bool { return os.Getenv("MUSTER_SYSTEM_TESTS") == "1" }

// System skips a test that only `make test-system` runs; why says what it does
// that other runs are to be spared.
func System(t testing.TB, why string) {
	t.Helper()
	if !Here() {
		t.Skip(why + ": make test-system runs it")
	}
}

// Program is the path of a program, the first of names that there is.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Absent(t, "this machine has no ", strings.Join(names, ", nor "))
	return ""
}

// Absent says what a test wants and this machine does not give.
func Absent(t testing.TB, what ...any) {
	t.Helper()
	if Here() {
		t.Fatal(fmt.Sprint(what...) + " (MUSTER_SYSTEM_TESTS=1: everything is to be there)")
	}
	t.Skip(what...)
}
