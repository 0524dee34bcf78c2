package apply

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// large is a campaign whose phase reads a file of backend far.x that no plan reads.
const large = `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
phase "size" {
  place { candidates = [backend.far.x] }
  job {
    command = "wc -c < ${input.big} > ${output.o}"
    input "big" {
      path    = "big/*.bin"
      backend = backend.far.x
    }
    output "o" { path = "out/size.txt" }
  }
}
phase "after" {
  place { candidates = [backend.far.x] }
  job {
    command = "cat ${input.size} > ${output.o}"
    input "size" { from = phase.size.output.o }
    output "o" { path = "out/after.txt" }
  }
}
phase "other" {
  place { candidates = [backend.far.x] }
  job {
    command = "echo other > ${output.o}"
    output "o" { path = "out/other.txt" }
  }
}`

const largeSize = 65 << 20 // more than a plan reads

func newLarge(t *testing.T, campaign string) *machines {
	f := newRawOf(t, campaign)
	f.truncate(largeSize)
	return f
}

// truncate gives the large file another size.
func (f *machines) truncate(size int64) {
	f.t.Helper()
	if err := os.Truncate(filepath.Join(f.far.root, "a/w/big/one.bin"), size); err != nil {
		f.t.Fatal(err)
	}
}

// undigested fails unless the plan leaves files to the apply.
func (f *machines) undigested() {
	f.t.Helper()
	if _, plan := f.plan(f.state()); !strings.Contains(strings.Join(plan.Notes, "\n"), "not yet digested: big/one.bin (") {
		f.t.Fatalf("the plan says %q", plan.Notes)
	}
}

// TestOthersRunWhileAFileIsDigested: the file is read when another job is done.
func TestOthersRunWhileAFileIsDigested(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.undigested()
	other := make(chan struct{})
	f.far.digests = func(ctx context.Context) error {
		select {
		case <-other:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if o, ok := ev.(state.Observed); ok && o.Address == "phase.other" && o.Status == state.Completed {
				close(other)
			}
		}
	}
	f.done(f.apply(t.Context()), 3)
	if got := strings.TrimSpace(f.read("a", "w/out/after.txt")); got != "68157440" {
		t.Errorf("out/after.txt holds %q", got)
	}
	f.conf, f.far.digests = nil, nil

	// The next plan has the hashes that the apply found.
	f.opts = planner.Options{}
	dir := t.TempDir()
	f.cache(dir)
	f.done(f.apply(t.Context()), 3)
	if _, plan := f.plan(f.state()); plan.Counts.Changes() || strings.Contains(strings.Join(plan.Notes, "\n"), "not yet digested") {
		t.Errorf("the plan of an applied plan: %+v, %q", plan.Counts, plan.Notes)
	}
	if len(f.far.sent) != 3 {
		t.Errorf("%d jobs were submitted", len(f.far.sent))
	}
}

// cache has plans and applies keep digests.
func (f *machines) cache(dir string) {
	f.digests = dir
	conf := f.conf
	f.conf = func(c *Config) {
		if c.Cache = dir; conf != nil {
			conf(c)
		}
	}
}

// TestDoneJobsOfAnUndigestedFile: what was made from it stays done if it holds the
// same bytes, and what reads that goes on; if not, nothing runs that no plan showed.
func TestDoneJobsOfAnUndigestedFile(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.opts = planner.Options{Targets: []string{"phase.size"}}
	if o := f.apply(t.Context()); o.Done != 1 {
		t.Fatalf("outcome %+v", o)
	}
	f.opts = planner.Options{}
	f.truncate(largeSize) // another change time, the same bytes
	f.undigested()
	read := 0
	f.far.digests = func(context.Context) error { read++; return nil }
	f.done(f.apply(t.Context()), 3)
	if read != 1 || len(f.far.sent) != 3 {
		t.Errorf("the file was read %d times, %d jobs were submitted", read, len(f.far.sent))
	}

	f.truncate(largeSize + 1)
	f.undigested()
	o := f.apply(t.Context())
	if o.Done != 1 || o.Changed != 2 || o.Stopped != progress.None || len(f.far.sent) != 3 {
		t.Errorf("outcome %+v, %d submitted\n%s", o, len(f.far.sent), strings.Join(f.notes, "\n"))
	}
	for _, address := range []string{"phase.size", "phase.after"} {
		if job := f.state().Jobs[address]; job.Status != state.Completed {
			t.Errorf("%s is %s", address, job.Status)
		}
	}
	if notes := strings.Join(f.notes, "\n"); !strings.Contains(notes, "phase.size: is held: input bytes changed: big/one.bin. Run muster plan") {
		t.Errorf("notes:\n%s", notes)
	}
}

// TestNothingStartsOnADoneJobWhoseInputChanged: it would read what a re-run makes.
func TestNothingStartsOnADoneJobWhoseInputChanged(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.opts = planner.Options{Targets: []string{"phase.size"}}
	f.apply(t.Context())
	f.opts = planner.Options{}
	f.truncate(largeSize + 1)
	f.undigested()
	if o := f.apply(t.Context()); o.Done != 1 || o.Changed != 1 || o.Blocked != 1 {
		t.Errorf("outcome %+v\n%s", o, strings.Join(f.notes, "\n"))
	}
	if f.read("a", "w/out/after.txt") != "" {
		t.Error("phase.after ran")
	}
}

// TestDigestingIsCutOff: none of the file's jobs was started, and the next apply runs them.
func TestDigestingIsCutOff(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.cache(t.TempDir())
	if err := os.WriteFile(filepath.Join(f.far.root, "a/w/big/two.bin"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.far.digests = func(within context.Context) error {
		if f.far.digests = nil; within.Err() == nil { // the plan's own, of the small file
			f.far.digests = func(within context.Context) error {
				cancel()
				<-within.Done()
				return within.Err()
			}
		}
		return nil
	}
	o := f.apply(ctx)
	if job := f.state().Jobs["phase.size"]; o.Stopped != progress.Interrupted || job != nil {
		t.Fatalf("outcome %+v\n%s", o, text(job))
	}
	f.far.digests = nil
	f.done(f.apply(t.Context()), 3)
}

// TestUndigestedFileOfASmoke: the smoke waits for the digest, and its pass counts for
// these bytes.
func TestUndigestedFileOfASmoke(t *testing.T) {
	t.Parallel()
	f := newLarge(t, strings.Replace(large, `phase "after" {`, `phase "tried" {
  place { candidates = [backend.far.x] }
  params = { code = "1" }
  smoke { params = { code = "0" } }
  job {
    command = "wc -c < ${input.big} > ${output.o}; : ${param.code}"
    input "big" {
      path    = "big/*.bin"
      backend = backend.far.x
    }
    output "o" { path = "out/tried.txt" }
  }
}
phase "after" {`, 1))
	smokes := func() (n int) {
		for _, j := range f.far.sent {
			if j.Smoke {
				n++
			}
		}
		return n
	}
	f.apply(t.Context())
	if smokes() != 1 {
		t.Fatalf("%d smokes were submitted\n%s", smokes(), strings.Join(f.notes, "\n"))
	}
	f.undigested()
	f.opts = planner.Options{Rerun: []string{"phase.tried"}}
	f.apply(t.Context())
	if smokes() != 1 || len(f.far.sent) != 6 {
		t.Errorf("%d smokes and %d jobs were submitted; the same bytes are tried again\n%s", smokes(), len(f.far.sent), strings.Join(f.notes, "\n"))
	}
	f.truncate(largeSize + 1)
	f.apply(t.Context())
	if smokes() != 2 {
		t.Errorf("%d smokes were submitted; other bytes are not tried", smokes())
	}
}

// TestDetachedWithAnUndigestedFile: it is digested, and its jobs are submitted with
// those after them.
func TestDetachedWithAnUndigestedFile(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.conf = func(c *Config) { c.Mode = Detach }
	if o := f.apply(t.Context()); o.Stopped != progress.Detached || len(f.far.sent) != 3 {
		t.Fatalf("outcome %+v, %d submitted\n%s", o, len(f.far.sent), strings.Join(f.notes, "\n"))
	}
	f.conf = nil
	f.done(f.apply(t.Context()), 3)
	if len(f.far.sent) != 3 {
		t.Errorf("%d jobs were submitted", len(f.far.sent))
	}
	_, plan := f.plan(f.state())
	if plan.Counts.Changes() {
		t.Errorf("the plan of an applied plan: %+v", plan.Counts)
	}
}

// TestUnreadableWhileDigested: the file's jobs are held with the reason, and the
// others go on; with jobs that are done it is a note.
func TestUnreadableWhileDigested(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	f.conf = func(c *Config) {
		if err := os.Remove(filepath.Join(f.far.root, "a/w/big/one.bin")); err != nil {
			t.Fatal(err)
		}
	}
	o := f.apply(t.Context())
	if notes := strings.Join(f.notes, "\n"); o.Done != 1 || o.Held != 1 || o.Blocked != 1 || !strings.Contains(notes, "phase.size: is held: big/one.bin ") {
		t.Errorf("outcome %+v\n%s", o, notes)
	}
	if job := f.state().Jobs["phase.size"]; job != nil {
		t.Errorf("it is held in the state: %s", text(job))
	}
	f.conf = nil
	if err := os.WriteFile(filepath.Join(f.far.root, "a/w/big/one.bin"), make([]byte, largeSize), 0o644); err != nil {
		t.Fatal(err)
	}
	f.done(f.apply(t.Context()), 3)
	f.truncate(largeSize)
	f.conf = func(c *Config) {
		if err := os.Remove(filepath.Join(f.far.root, "a/w/big/one.bin")); err != nil {
			t.Fatal(err)
		}
	}
	f.done(f.apply(t.Context()), 3)
}

// TestWhileAwayADigestIsWaitedFor: a line that is cut breaks no digest for good.
func TestWhileAwayADigestIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newLarge(t, large)
	first := true
	f.far.digests = func(context.Context) error {
		if first {
			first = false
			return providers.Errorf(providers.Unreachable, "the line is cut")
		}
		return nil
	}
	f.done(f.apply(t.Context()), 3)
	if first {
		t.Error("nothing was read")
	}
}
