package pbs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/pbs"
)

// TestOwnPrograms: a site's own programs are run in place of PBS's, and only those that
// muster would run.
func TestOwnPrograms(t *testing.T) {
	// Requirement: SUB-20, DT-15
	t.Parallel()
	server, dir := pbssim.Start(t, pbssim.Config{}), t.TempDir()
	own, log := filepath.Join(dir, "checked"), filepath.Join(dir, "log")
	program.Write(t, own, fmt.Sprintf("#!/bin/sh\necho \"$@\" >> %s\nexec %s/pbsnodes \"$@\"\n", log, server.Bin))
	open := func(commands map[string]string) (scheduler.Site, error) {
		config, err := json.Marshal(map[string]any{"commands": commands})
		if err != nil {
			t.Fatal(err)
		}
		return pbs.Type{}.Open(scheduler.Opening{Backend: providers.Backend{Name: "pbs.site", Config: config},
			Environ: func() []string { return append(os.Environ(), "PATH="+server.Bin+":"+os.Getenv("PATH")) }})
	}
	site, err := open(map[string]string{"pbsnodes": own})
	if err != nil {
		t.Fatal(err)
	}
	if pools, err := site.Pools(t.Context()); err != nil || len(pools) == 0 {
		t.Fatalf("%d pools, %v", len(pools), err)
	}
	if said, err := os.ReadFile(log); err != nil || !strings.Contains(string(said), "-F json") {
		t.Errorf("the site's own program was called with %q, %v", said, err)
	}
	for commands, want := range map[[2]string]string{
		{"qsub", "bin/qsub"}: "absolute path", {"qsub", ""}: "absolute path", {"rm", "/bin/rm"}: "never runs",
	} {
		if _, err := open(map[string]string{commands[0]: commands[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", commands, err, want)
		}
	}
}

// TestWorkdirs: a workdir that qsub -o cannot take is refused before anything is
// submitted.
func TestWorkdirs(t *testing.T) {
	t.Parallel()
	for workdir, fits := range map[string]bool{
		"/eagle/proj_1/run-2.a": true, "/data/a,b=c;$d&(e)[f]{g}#h": true, "": true,
		"/data/my runs": false, "/work/my files": false, "/data/wörk": false, "/data/日本": false, `/data/it's`: false, `/data/"a"`: false, `/data/a\b`: false, "/data/50%": false, "/data/^array_index^": false, "/data/a\nb": false,
	} {
		_, err := pbs.Type{}.Open(scheduler.Opening{Backend: providers.Backend{Name: "pbs.site", Workdir: workdir}})
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "set workdir") {
			t.Errorf("%q: %v", workdir, err)
		}
	}
}
