// Package needs declares a test's requirements of its machine: a program,
// root, a kind of file system, minutes. `make test` skips a test whose
// requirements are not met and says why. `make test-system` installs
// requirements, sets MUSTER_SYSTEM_TESTS=1, and fails such a test.
//
// `make test-system` runs only tests whose names begin with TestSystem, so that
// each test runs once. System enforces that name.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// here reports whether everything that a test may want is to be there.
func here() bool { return os.Getenv("MUSTER_SYSTEM_TESTS") == "1" }

// System skips a test that only `make test-system` runs; why is the reason for keeping it out
// of other runs. It fails a test that `make test-system` would not find, because its name does
// not begin with TestSystem.
func System(t testing.TB, why string) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestSystem") && !strings.HasPrefix(t.Name(), "TestNightly") {
		t.Fatal("only make test-system runs this test: its name must begin with TestSystem")
	}
	if !here() {
		t.Skip(why + ": make test-system runs it")
	}
}

// Nightly skips a test that only `make nightly` runs. Its name begins with
// TestNightly.
func Nightly(t testing.TB, why string) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestNightly") {
		t.Fatal("only make nightly runs this test: its name must begin with TestNightly")
	}
	if os.Getenv("MUSTER_NIGHTLY") != "1" {
		t.Skip(why + ": make nightly runs it")
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
	if here() {
		t.Fatal(fmt.Sprint(what...) + " (MUSTER_SYSTEM_TESTS=1: everything is to be there)")
	}
	t.Skip(what...)
}
