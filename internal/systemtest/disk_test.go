package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// campaign is the text of the campaign.
func (w *world) campaign() string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "campaign.muster.hcl"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func TestSystemDiskOfTheStateFills(t *testing.T) {
	const n = 200
	w := newWorld(t, jobs(n, "true"))
	text := strings.Replace(w.campaign(), "cpus = 4", "cpus = 4\n workdir = \""+filepath.Dir(w.dir)+"/w\"\n", 1)
	text = strings.Replace(text, "{ cpus = 4", "{\n cpus = 4", 1)
	small(t, w.dir, "200k")
	w.write("campaign.muster.hcl", text)
	w.want(1, "Free some space (or inodes, or quota)", "apply", "-auto-approve")
	w.want(1, "Free some space (or inodes, or quota)", "apply", "-auto-approve")
	w.want(0, "Plan: ", "plan")
	grow(t, w.dir)
	w.want(0, "200 of 200 jobs done", "apply", "-auto-approve")
	w.ranOnce(n)
}

// TestSystemDiskOfTheSpoolFills: jobs that wait to start, that run, and that end while the spool has
// no room all run once.
func TestSystemDiskOfTheSpoolFills(t *testing.T) {
	const n = 60
	w := newWorld(t, strings.Replace(jobs(n, untilGo), "cpus = 4", "cpus = 60", 1))
	small(t, w.spool, "100k")
	d := w.start("apply", "-auto-approve")
	w.until("a full spool", func() bool { return full(w.spool) })
	if b, _ := os.ReadFile(w.log); strings.Count(string(b), "\n") == n {
		t.Fatal("there was room for every job")
	}
	w.write("go", "")
	time.Sleep(2 * time.Second) // as long as the queue tries
	grow(t, w.spool)
	if out, code := d.end(); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	w.ranOnce(n)
}

func TestSystemDiskOfTheOutputsFills(t *testing.T) {
	// Requirement: OOM-10
	const n = 30
	w := newWorld(t, strings.Replace(jobs(n, "true"), "echo ${cell.i} >", "head -c 60000 /dev/zero >", 1))
	out := filepath.Join(w.dir, "out")
	small(t, out, "1m")
	w.want(3, "disk_full", "apply", "-auto-approve")
	w.want(3, "muster resume muster apply", "apply", "-auto-approve")
	grow(t, out)
	w.want(0, "Run `muster apply` to start", "resume")
	w.want(0, "30 of 30 jobs done", "apply", "-auto-approve")
	w.want(0, "Nothing to do", "plan", "-detailed-exitcode")
}
