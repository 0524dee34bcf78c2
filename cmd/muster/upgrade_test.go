package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// upgradeFixture is where an archive of testdata was made by the version of commit 3f7ce3a: its
// state, its journal and its spool hold absolute paths and checksums over them.
const upgradeFixture = "/tmp/muster-fixture-3f7ce3a"

// An upgraded is a campaign that an old version left half done, with its spool.
type upgraded struct {
	t         *testing.T
	root, dir string
}

// unpack puts the campaign of an archive where it was made.
func unpack(t *testing.T, archive, root string) upgraded {
	t.Helper()
	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Skipf("the fixture works in one folder only, which belongs to somebody else: %v", err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "xzf", archive, "-C", root).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return upgraded{t, root, filepath.Join(root, "campaign")}
}

// muster runs today's version, which must end with a code and print a text.
func (u upgraded) muster(code int, want string, args ...string) {
	u.t.Helper()
	cmd := exec.Command("muster", args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "MUSTER_SPOOL="+u.root+"/spool", "HOME="+u.root, "CI=true", "NO_COLOR=1", "MUSTER_QUEUE_IDLE=200ms")
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
		u.t.Fatalf("muster %s: %v, want exit %d and %q in:\n%s", strings.Join(args, " "), err, code, want, out)
	}
}

// unlock gives the lock back: on another machine nobody can know whether the holder is gone.
func (u upgraded) unlock() {
	u.t.Helper()
	var lease struct{ ID string }
	text, err := os.ReadFile(filepath.Join(u.dir, "muster.state.lock"))
	if err == nil {
		err = json.Unmarshal(text, &lease)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.muster(0, "", "force-unlock", "-force", lease.ID)
}

// TestUpgrade finishes a campaign whose apply, queue and three running jobs were killed; a job
// had failed, others were queued or pending.
func TestUpgrade(t *testing.T) {
	u := unpack(t, "testdata/upgrade-3f7ce3a.tgz", upgradeFixture)
	for _, i := range []string{"4", "5", "6"} {
		os.Remove(filepath.Join(u.dir, "wait-"+i))
	}
	u.muster(0, "3 of 8 done", "status")
	u.unlock()
	u.muster(0, "0 to re-run", "plan")
	u.muster(3, "14 of 16 jobs done and verified, 1 failed, 1 blocked", "apply", "-auto-approve")
	replaceIn(t, filepath.Join(u.dir, "campaign.muster.hcl"), "exit 9", "true")
	u.muster(0, "Done: 16 of 16 jobs done and verified", "apply", "-auto-approve", "-allow-rerun")
	u.muster(0, "Nothing to do", "plan", "-detailed-exitcode")
}

// TestUpgradeOfWaits finishes a campaign of which three jobs had failed and waited for the delay
// of their retry, one was held by a person, and one ran, when apply, queue and jobs were killed.
func TestUpgradeOfWaits(t *testing.T) {
	u := unpack(t, "testdata/upgrade-3f7ce3a-waits.tgz", upgradeFixture+"-waits")
	for _, i := range []string{"0", "1", "2"} {
		os.Remove(filepath.Join(u.dir, "wait-"+i))
	}
	u.muster(0, "phase.flaky 0 of 3 done 3 waiting", "status")
	u.unlock()
	u.muster(0, "0 to re-run", "plan")
	u.muster(3, "7 of 9 jobs done and verified, 1 held, 1 blocked", "apply", "-auto-approve")
	u.muster(0, "", "resume")
	u.muster(0, "Done: 9 of 9 jobs done and verified", "apply", "-auto-approve")
	u.muster(0, "Nothing to do", "plan", "-detailed-exitcode")
	record, err := os.ReadFile(filepath.Join(u.dir, "record"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, line := range strings.Fields(string(record)) {
		ran[line]++
	}
	// The killed job ran again; each other once, but for the failed launches of before.
	want := map[string]int{"flaky-0": 2, "flaky-1": 2, "flaky-2": 2, "kept-0": 2, "kept-1": 1, "kept-2": 1, "after-0": 1, "after-1": 1, "after-2": 1}
	if !maps.Equal(ran, want) {
		t.Errorf("these ran: %v, want %v", ran, want)
	}
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
