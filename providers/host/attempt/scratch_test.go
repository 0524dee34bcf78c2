package attempt

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A scratched job reads in.txt and a list, and leaves a file, a pattern and a folder.
func scratched(t *testing.T) (j *providers.Job, disk string) {
	dir := t.TempDir()
	put(t, dir+"/in.txt", "in\n")
	put(t, dir+"/a/part", "a\n")
	put(t, dir+"/b/part", "b\n")
	j = &providers.Job{Token: rand.Text(), Workdir: dir, Dir: dir, Guard: &offer.Guard{},
		Shell:   "cat " + offer.ScratchInput(offer.ScratchMark, "in", 0, 1, "in.txt"),
		Argv:    []string{offer.ScratchMark},
		Env:     []providers.EnvVar{{Name: "AT", Value: offer.ScratchMark + "/x"}},
		Inputs:  []providers.Input{{Name: "in", Paths: []string{dir + "/in.txt"}}, {Name: "parts", Paths: []string{dir + "/a/part", dir + "/b/part"}}, {Name: "far", Paths: []string{dir + "/in.txt"}}},
		Outputs: []providers.Output{{Name: "file", Kind: "path", Path: "out/f"}, {Name: "set", Kind: "glob", Path: "out/*.csv"}, {Name: "dir", Kind: "dir", Path: "d"}, {Name: "far", Kind: "path", Path: "far"}},
		Scratch: &offer.Scratch{In: []string{"in", "parts"}, Out: []string{"file", "set", "dir"}}}
	return j, t.TempDir()
}

// stage makes the folder of a launch, and the job as its command sees it.
func stage(t *testing.T, j *providers.Job, disk string) (folder string, run *providers.Job) {
	t.Helper()
	folder, err := ScratchFolder(j, disk, "1")
	if err == nil {
		err = StageIn(t.Context(), j, folder, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder, InScratch(j, folder)
}

func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// wrote writes the files of the command.
func wrote(t *testing.T, run *providers.Job) {
	t.Helper()
	put(t, run.Outputs[0].Path, "file\n")
	put(t, filepath.Dir(run.Outputs[1].Path)+"/1.csv", "1\n")
	put(t, filepath.Dir(run.Outputs[1].Path)+"/2.csv", "2\n")
	put(t, run.Outputs[2].Path+"/deep/x", "x\n")
	put(t, filepath.Join(run.Workdir, "far"), "far\n")
}

func ended(j *providers.Job, folder string) Ended {
	return Ended{Start: guard.Start{Job: j, First: true}, Marks: verify.Take(j.Workdir, j.Outputs), Scratch: folder}
}

// The command sees paths on the node's disk; what it leaves there ends at its paths,
// verified, and the folder goes.
func TestScratch(t *testing.T) {
	// Requirement: WT-07, STO-18
	t.Parallel()
	j, disk := scratched(t)
	folder, run := stage(t, j, disk)
	e := ended(j, folder)
	if got := text(strings.TrimPrefix(run.Shell, "cat ")); got != "in\n" || run.Argv[0] != folder || run.Env[0].Value != folder+"/x" {
		t.Errorf("the command is %q %q %v, and reads %q", run.Shell, run.Argv, run.Env, got)
	}
	if a, b := text(run.Inputs[1].Paths[0]), text(run.Inputs[1].Paths[1]); a+b != "a\nb\n" || run.Inputs[2].Paths[0] != j.Inputs[2].Paths[0] {
		t.Errorf("the list is %q and %q, what is not staged %s", a, b, run.Inputs[2].Paths[0])
	}
	wrote(t, run)
	if r := e.stageOut(t.Context()); r != nil {
		t.Fatal(r)
	}
	for name, want := range map[string]string{"out/f": "file\n", "out/1.csv": "1\n", "out/2.csv": "2\n", "d/deep/x": "x\n", "far": "far\n"} {
		if got := text(filepath.Join(j.Workdir, name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if err := e.stageOut(t.Context()); err != nil { // by a queue that took over
		t.Errorf("a second time: %v", err)
	}
	os.Chmod(filepath.Join(folder, "out", "dir", "d", "deep"), 0o500)
	RemoveScratch(folder)
	if left, _ := os.ReadDir(disk); len(left) > 0 {
		t.Errorf("left on the node's disk: %v", left)
	}
}

// A file that appeared while the job ran is nobody's to replace; one that an earlier
// launch left is.
func TestScratchReplaces(t *testing.T) {
	t.Parallel()
	j, disk := scratched(t)
	folder, run := stage(t, j, disk)
	wrote(t, run)
	put(t, j.Workdir+"/out/f", "another's\n")
	err := ended(j, folder).stageOut(t.Context())
	if err == nil || !strings.Contains(err.Error(), "out/f is there, and this job did not make it") || text(j.Workdir+"/out/f") != "another's\n" {
		t.Errorf("another's file holds %q: %v", text(j.Workdir+"/out/f"), err)
	}
	again := ended(j, folder)
	again.First, again.Left = false, guard.Left(j)
	if err := again.stageOut(t.Context()); err != nil || text(j.Workdir+"/out/f") != "file\n" {
		t.Errorf("its own holds %q: %v", text(j.Workdir+"/out/f"), err)
	}
}

// A launch that writes the bytes that an earlier one wrote, as the repeat of a smoke does, has
// written its outputs.
func TestScratchWritesTheSame(t *testing.T) {
	t.Parallel()
	j, disk := scratched(t)
	j.Smoke = true
	folder, run := stage(t, j, disk)
	wrote(t, run)
	if err := ended(j, folder).stageOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := ended(j, folder)
	wrote(t, run)
	for range 2 { // a queue may take over
		if err := again.stageOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range j.Outputs {
			if fresh, why := again.Marks.Fresh(j.Workdir, o); !fresh {
				t.Errorf("output %s: %s", o.Name, why)
			}
		}
	}
}

// What keeps a launch from its folder, and what a stop leaves.
func TestScratchRefused(t *testing.T) {
	j, disk := scratched(t)
	if _, err := ScratchFolder(j, "$MUSTER_NOT_SET/x", "1"); StartClass(err) != "missing_file" {
		t.Errorf("without its variable: %v", err)
	}
	element := filepath.Join(disk, "pbs.7[1].server")
	t.Setenv("MUSTER_TEST_TMPDIR", element) // pbs_mom(8): TMPDIR of an array's element
	for _, dir := range []string{"$MUSTER_TEST_TMPDIR", "${MUSTER_TEST_TMPDIR}/deep"} {
		if folder, err := ScratchFolder(j, dir, "1"); folder != filepath.Join(disk, "muster-"+j.Token+".1") || err != nil {
			t.Errorf("in %s it is %q, %v", dir, folder, err)
		}
	}
	if _, err := ScratchFolder(j, "/it's here", "1"); err == nil {
		t.Error("a path with a quote was taken")
	}
	if folder, err := ScratchFolder(&providers.Job{}, disk, "1"); folder != "" || err != nil {
		t.Errorf("a job without scratch has %q, %v", folder, err)
	}
	if err := StageIn(t.Context(), j, filepath.Join(disk, "none", "muster-x"), false); StartClass(err) != "missing_file" {
		t.Errorf("where there is no such disk: %v", err)
	}
	folder, _ := stage(t, j, disk)
	if err := StageIn(t.Context(), j, folder, false); err == nil {
		t.Error("a folder that was there was used")
	}
	if err := StageIn(t.Context(), j, folder, true); err != nil {
		t.Errorf("the launch's own, again: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := StageIn(stopped, j, folder+"2", false); err == nil {
		t.Error("it staged after it was stopped")
	}
	if left, _ := filepath.Glob(folder + "2*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
