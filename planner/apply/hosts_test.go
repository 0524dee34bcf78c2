package apply

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// several is one backend of two hosts; SHARED represents what they share.
const several = `
backend "far" "lab" {
  hosts   = ["a", "b"]
  workdir = "~/w"
  SHARED
}
source { include = ["*.sh", "lib/**"] }
phase "make" {
  grid { axes = { n = [1, 2, 3, 4, 5, 6] } }
  place { candidates = [backend.far.lab] }
  job {
    command = "./make.sh ${cell.n} > ${output.o}"
    secret "KEY" { env = "MUSTER_TEST_KEY" }
    output "o" { path = "out/a${cell.n}.txt" }
  }
}
phase "all" {
  place { candidates = [backend.far.lab] }
  job {
    command = "cat $(cat ${input_file.made}) > ${output.o}"
    input "made" { from_all = phase.make.output.o }
    output "o" { path = "all.txt" }
  }
}`

func newSeveral(t *testing.T, shared string) *machines {
	f := newMachines(t, strings.Replace(several, "SHARED", shared, 1))
	f.file("make.sh", "#!/bin/sh\necho \"$1 $KEY $PWD\"\n")
	f.conf = func(c *Config) { c.Secrets = nil }
	return f
}

func TestHostsOfOneBackendShareTheJobsAndPassFilesOn(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, "")
	f.done(f.apply(t.Context()), 7)
	on := map[string]int{}
	for _, j := range f.state().Jobs {
		on[j.Last().Pool]++
		if strings.Contains(text(j), "s3cret") {
			t.Errorf("the secret is in the record of %s", j.Address)
		}
	}
	if on["a"] < 2 || on["b"] < 2 {
		t.Errorf("jobs by host: %v", on)
	}
	last := f.state().Jobs["phase.all"].Last().Pool
	lines := strings.Split(strings.TrimSpace(f.read(last, "w/all.txt")), "\n")
	if len(lines) != 6 {
		t.Fatalf("all.txt on %s: %q", last, lines)
	}
	for i, line := range lines {
		w := strings.Fields(line)
		if w[0] != string(rune('1'+i)) || w[1] != "s3cret" || !strings.Contains(w[2], "/w/.muster/source/") {
			t.Errorf("line %d: %q", i, line)
		}
	}
	for _, j := range f.far.sent {
		if len(j.After) > 0 {
			t.Errorf("%s comes after %v", j.Address, j.After)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(f.far.root, "*/w/.muster/source/*.muster-tree")); len(kept) > 0 {
		t.Errorf("archives are left: %v", kept)
	}
	if _, plan := f.plan(f.state()); plan.Counts.Changes() {
		t.Errorf("the plan of an applied plan: %+v", plan.Counts)
	}
}

func TestDestroyDeletesOutputsOnTheHostsWhereTheyLie(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, "")
	f.done(f.apply(t.Context()), 7)
	f.opts = planner.Options{Destroy: true, Outputs: true}
	if o := f.apply(t.Context()); o.Deleted != 7 || o.Undeleted != 0 {
		t.Errorf("outcome %+v\n%s", o, strings.Join(f.notes, "\n"))
	}
	for _, j := range f.state().Jobs {
		if j.Status == state.Completed {
			t.Errorf("%s is still completed", j.Address)
		}
	}
	f.opts = planner.Options{}
	f.done(f.apply(t.Context()), 7)
}

func TestDetachHoldsBackEdgesBetweenHosts(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, "")
	f.conf = detached
	o := f.apply(t.Context())
	if o.Submitted != 6 || o.Left != 1 || !strings.Contains(o.First, "phase.make") || o.Next != "muster apply -once" {
		t.Errorf("outcome %+v", o)
	}
	f.conf = nil
	f.done(f.apply(t.Context()), 7)
	if n := len(f.far.sent); n != 7 {
		t.Errorf("%d jobs were sent", n)
	}
}

func TestHostThatIsAwayKeepsItsJobsAndTheOthersGoOn(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, "")
	f.file("make.sh", "#!/bin/sh\nsleep 0.3; echo \"$1 $KEY $PWD\"\n")
	ctx, stop := context.WithCancel(t.Context())
	handed := map[string]bool{}
	f.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if s, ok := ev.(state.Submitted); ok {
				if handed[s.Address] = true; len(handed) == 6 {
					stop()
				}
			}
		}
	}
	f.apply(ctx)
	f.far.cut("a", true)
	back := false
	f.conf = func(c *Config) {
		old := c.Progress
		c.Progress = func(p progress.Snapshot) {
			old(p)
			i := slices.IndexFunc(p.Phases, func(ph progress.Phase) bool { return ph.Phase == "make" })
			if i >= 0 && !back && p.Phases[i].Failed > 0 {
				t.Error("a job failed because its host is away")
			}
			if strings.Contains(p.Note, "cannot be reached") {
				back = true
				f.far.cut("a", false)
			}
		}
	}
	f.done(f.apply(t.Context()), 7)
	for a, j := range f.state().Jobs {
		if len(j.Attempts) != 1 {
			t.Errorf("%s has %d attempts", a, len(j.Attempts))
		}
	}
	if !back {
		t.Error("nobody noticed that the host was away")
	}
}

// TestJobsOfAHostThatGoesAwayAreUnknown: from when its host is lost in the middle
// of a run until it is back, a job is neither running nor failed.
func TestJobsOfAHostThatGoesAwayAreUnknown(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, "")
	f.file("make.sh", "#!/bin/sh\nwhile [ ! -e "+f.dir+"/go ]; do sleep 0.1; done; echo \"$1 $KEY $PWD\"\n")
	f.far.tells = true
	cut, lost := 0, 0
	f.conf = func(c *Config) {
		old := c.Progress
		c.Progress = func(p progress.Snapshot) {
			old(p)
			i := slices.IndexFunc(p.Phases, func(ph progress.Phase) bool { return ph.Phase == "make" })
			if i < 0 {
				return
			}
			switch ph := p.Phases[i]; {
			case cut == 0 && ph.Running >= 4:
				for _, j := range f.state().Jobs {
					if j.InFlight() && j.Last().Pool == "a" {
						cut++
					}
				}
				f.far.cut("a", true)
			case cut > 0 && lost == 0 && ph.Unknown > 0:
				if lost = ph.Unknown; ph.Failed > 0 {
					t.Error("a job failed because its host is away")
				}
				if a, away := f.state().AwayFrom("far.lab", "a"); !away || a.At.IsZero() || a.Reason == "" {
					t.Errorf("the state says of a: %+v", f.state().Away)
				}
				if _, away := f.state().AwayFrom("far.lab", "b"); away {
					t.Error("b is away, too")
				}
				f.far.cut("a", false)
				f.file("go", "")
			}
		}
	}
	f.done(f.apply(t.Context()), 7)
	if lost == 0 || lost != cut {
		t.Errorf("%d jobs were unknown, %d were on the host", lost, cut)
	}
	if away := f.state().Away; len(away) > 0 {
		t.Errorf("away in the end: %v", away)
	}
	for a, j := range f.state().Jobs {
		if len(j.Attempts) != 1 {
			t.Errorf("%s has %d attempts", a, len(j.Attempts))
		}
	}
}

const fallback = `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
backend "far" "y" {
  hosts   = ["b"]
  workdir = "~/w"
}
phase "p" {
  grid { axes = { n = [1, 2, 3] } }
  place {
    candidates = [backend.far.x, backend.far.y]
    prefer     = "order"
  }
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}.txt" }
  }
}`

func TestWorkGoesElsewhereWhenItsBackendIsAway(t *testing.T) {
	// Requirement: DT-08, RES-06
	t.Parallel()
	f := newMachines(t, fallback)
	f.conf = func(c *Config) { f.far.cut("a", true) } // after the plan was made
	f.done(f.apply(t.Context()), 3)
	for a, j := range f.state().Jobs {
		if at := j.Last(); at.Backend != "far.y" || !strings.Contains(at.Why, "backend.far.x cannot be reached") || len(j.Attempts) != 1 {
			t.Errorf("%s: %s", a, text(j.Attempts))
		}
	}
	if _, plan := f.plan(f.state()); plan.Counts.Changes() {
		t.Errorf("the plan of an applied plan: %+v", plan.Counts)
	}
}

func TestSharedFilesystemNeedsNoTransfer(t *testing.T) {
	t.Setenv("MUSTER_TEST_KEY", "s3cret")
	f := newSeveral(t, `shared_fs = "home"`)
	// One home for both.
	f.far.host("a")
	f.far.host("b").home = f.far.host("a").home
	f.done(f.apply(t.Context()), 7)
	if len(f.far.offsets) > 0 {
		t.Errorf("files were moved: %v", f.far.offsets)
	}
	if got := strings.Count(f.read("a", "w/all.txt"), "\n"); got != 6 {
		t.Errorf("%d lines", got)
	}
}
