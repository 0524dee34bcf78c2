package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary stand for muster: as a command of the
// scripts, and as the processes muster starts of itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "provider" {
		serveReaper()
		os.Exit(Main())
	}
	testscript.Main(m, map[string]func(){"muster": func() { os.Exit(Main()) }})
}

// concurrentStories are the sessions that `make race` runs (-short): in them
// engine, provider, queue and signals work at the same time. The other stories
// would repeat what these exercise, at ten times the cost.
var concurrentStories = []string{
	"cancelled", "engine_exits", "engine_pull", "events", "external", "failing", "gates", "hold", "interrupted", "retry", "secret",
}

// TestScript runs sessions: each reads as a story from top to bottom.
func TestScript(t *testing.T) {
	t.Parallel()
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		for _, name := range concurrentStories {
			files = append(files, filepath.Join(dir, name+".txt"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: false,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("MUSTER_SPOOL", filepath.Join(env.WorkDir, ".spool"))
			env.Setenv("MUSTER_QUEUE_IDLE", "200ms")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("USER", "ada")
			env.Setenv("MUSTER_WHO", "ada")
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("CI", "true")
			env.Setenv("GORACE", os.Getenv("GORACE")) // without it each command waits a second at its end
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "quiet": quiet, "absent": absent, "replace": replace, "plugin": plugin, "tamper": tamper,
		},
	})
}

// exits CODE COMMAND… runs muster and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE muster ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit %s, want %s", got, args[0])
	}
}

// quiet fails when the command before had anything to say to people, but for
// what it waited for, which hangs on how busy the machine is.
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: quiet")
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "Waiting for ") || !strings.HasSuffix(line, "…\n") {
			ts.Fatalf("it said: %s", line)
		}
	}
}

// absent TEXT PATH… fails when a file below a path holds the text.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: absent TEXT PATH…")
	}
	for _, root := range args[1:] {
		err := filepath.WalkDir(ts.MkAbs(root), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			b, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(b), args[0]) {
				ts.Fatalf("%s holds %q", path, args[0])
			}
			return nil
		})
		ts.Check(err)
	}
}

// replace OLD NEW FILE edits a file.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace OLD NEW FILE")
	}
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s does not hold %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o644))
}
