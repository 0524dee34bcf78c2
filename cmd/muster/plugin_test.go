package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-run/muster/internal/program"
)

// builtPlugins are external providers of examples/, built once for all scripts.
var builtPlugins sync.Map // name → func() ([]byte, error)

// plugin NAME builds examples/provider-NAME into plugins/, a
// MUSTER_PLUGIN_DIR.
func plugin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: plugin NAME")
	}
	build, _ := builtPlugins.LoadOrStore(args[0], sync.OnceValues(func() ([]byte, error) { return buildPlugin(args[0]) }))
	binary, err := build.(func() ([]byte, error))()
	if err != nil {
		ts.Fatalf("build %s: %v\n%s", args[0], err, binary)
	}
	dir := ts.MkAbs("plugins")
	ts.Check(program.File(filepath.Join(dir, "muster-provider-"+args[0]), binary))
	ts.Setenv("MUSTER_PLUGIN_DIR", dir)
}

// buildPlugin returns the program, or what the compiler said.
func buildPlugin(name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "muster-plugin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "plugin")
	if out, err := exec.Command("go", "build", "-o", path, "../../examples/provider-"+name).CombinedOutput(); err != nil {
		return out, err
	}
	return os.ReadFile(path)
}

// tamper FILE appends a byte to a program, which still runs.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tamper FILE")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(program.File(path, append(b, 0)))
}
