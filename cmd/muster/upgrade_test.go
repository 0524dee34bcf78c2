package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// upgradeFixture is where testdata/upgrade-3f7ce3a.tgz was made: its state, its
// journal and its spool hold absolute paths and checksums over them.
const upgradeFixture = "/tmp/muster-fixture-3f7ce3a"

// TestUpgrade finishes a campaign that the version of commit 3f7ce3a began. Its
// apply, its queue and three running jobs were killed; a job had failed, others
// were queued or pending. The archive holds the campaign's folder and the spool as
// they were left.
func TestUpgrade(t *testing.T) {
	lock, err := os.OpenFile(upgradeFixture+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Skipf("the fixture works in one folder only, which belongs to somebody else: %v", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(upgradeFixture); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(upgradeFixture) })
	if err := os.Mkdir(upgradeFixture, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "xzf", "testdata/upgrade-3f7ce3a.tgz", "-C", upgradeFixture).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	dir := filepath.Join(upgradeFixture, "campaign")
	muster := func(code int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command("muster", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "MUSTER_SPOOL="+upgradeFixture+"/spool", "HOME="+upgradeFixture, "CI=true", "NO_COLOR=1", "MUSTER_QUEUE_IDLE=200ms")
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
			t.Fatalf("muster %s: %v, want exit %d and %q in:\n%s", strings.Join(args, " "), err, code, want, out)
		}
	}
	// On another machine nobody can know whether the holder is gone.
	var lease struct{ ID string }
	text, err := os.ReadFile(filepath.Join(dir, "muster.state.lock"))
	if err == nil {
		err = json.Unmarshal(text, &lease)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []string{"4", "5", "6"} {
		os.Remove(filepath.Join(dir, "wait-"+i))
	}
	muster(0, "3 of 8 done", "status")
	muster(0, "", "force-unlock", "-force", lease.ID)
	muster(0, "0 to re-run", "plan")
	muster(3, "14 of 16 jobs done and verified, 1 failed, 1 blocked", "apply", "-auto-approve")
	replaceIn(t, filepath.Join(dir, "campaign.muster.hcl"), "exit 9", "true")
	muster(0, "Done: 16 of 16 jobs done and verified", "apply", "-auto-approve", "-allow-rerun")
	muster(0, "Nothing to do", "plan", "-detailed-exitcode")
}

func replaceIn(t *testing.T, path, old, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), old) {
		t.Fatalf("%s: %v, want %q in it", path, err, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), old, text)), 0o644); err != nil {
		t.Fatal(err)
	}
}
