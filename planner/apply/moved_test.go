package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const before = `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
phase "old" {
  grid { axes = { n = [1, 2] } }
  PLACE
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" { path = "out/old${cell.n}.txt" }
  }
}`

// renamed is the campaign after its phase and its files were given new names,
// with a job that reads one.
func renamed(hcl string) string {
	hcl = strings.Replace(hcl, `phase "old"`, `phase "new"`, 1)
	hcl = strings.Replace(hcl, "out/old", "out/new", 1)
	return hcl + `
moved {
  from = phase.old
  to   = phase.new
}
phase "sum" {
  job {
    command = "cat $(cat ${input_file.all}) > ${output.s}"
    input "all" { from_all = phase.new.output.o }
    output "s" { path = "sum.txt" }
  }
}`
}

func TestMovedJobsTakeTheirFilesAlong(t *testing.T) {
	t.Parallel()
	for place, where := range map[string]string{"": "", "place { candidates = [backend.far.x] }": "a"} {
		t.Run("on "+where, func(t *testing.T) {
			t.Parallel()
			hcl := strings.Replace(before, "PLACE", place, 1)
			f := newMachines(t, hcl)
			f.done(f.apply(t.Context()), 2)
			f.file("c.muster.hcl", "campaign \"c\" {}\n"+renamed(hcl))
			o := f.apply(t.Context())
			f.done(o, 3)
			if o.Submitted != 1 {
				t.Errorf("%d jobs were handed over, want that of phase.sum alone", o.Submitted)
			}
			if got := f.read("", "sum.txt"); got != "1\n2\n" {
				t.Errorf("sum %q", got)
			}
			st := f.state()
			if st.Jobs[`phase.old["n=1"]`] != nil && st.Jobs[`phase.old["n=1"]`].Status != "forgotten" {
				t.Errorf("the old record is left: %s", text(st.Jobs[`phase.old["n=1"]`]))
			}
			out := staging.OutputNamed(st.Jobs[`phase.new["n=1"]`], "o")
			if where != "" {
				if out.Path != "out/old1.txt" || f.read("a", "w/out/old1.txt") != "1\n" {
					t.Errorf("elsewhere the record points to where the file is: %s", text(out))
				}
			} else if out.Path != "out/new1.txt" || f.read("", "out/new1.txt") != "1\n" || f.read("", "out/old1.txt") != "" {
				t.Errorf("here the file has its new name: %s in %s", text(out), staging.Absolute(out.Workdir, out.Path))
			}
			if _, plan := f.plan(st); plan.Counts.Changes() {
				t.Errorf("the plan of an applied plan: %+v", plan.Counts)
			}
		})
	}
}

// TestMovedAndChangedWhileItRan: a job that got another address and other contents is one job
// still: its running launch ends before the next begins, and its record has one address.
func TestMovedAndChangedWhileItRan(t *testing.T) {
	t.Parallel()
	const old = `
phase "old" {
  job {
    command = "one ${output.o}"
    output "o" { path = "o.txt" }
  }
}
phase "next" {
  job {
    command = "next ${input.i} ${output.p}"
    input "i" { from = phase.old.output.o }
    output "p" { path = "p.txt" }
  }
}`
	changed := strings.NewReplacer(`phase "old"`, `phase "new"`, "phase.old", "phase.new", "one", "two").Replace(old) + "\nmoved {\n  from = phase.old\n  to   = phase.new\n}\n"
	for name, c := range map[string]struct {
		hcl     string
		targets []string
		ended   int // launches of the old contents that were cancelled
	}{
		"changed":         {changed, nil, 1},
		"changed, target": {changed, []string{"phase.next"}, 1},
		"moved, target":   {strings.Replace(changed, "two", "one", 1), []string{"phase.next"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, old)
			s.world.result = func(j providers.Job, _ int) jobResult {
				one := strings.Contains(j.Shell, "one")
				return jobResult{hang: one && c.ended > 0, takes: 200 * time.Millisecond}
			}
			s.conf = detached
			s.must(t.Context())
			s.write(c.hcl)
			s.opts.Targets = c.targets
			s.conf = nil
			if o := s.must(t.Context()); o.Done != 2 {
				t.Errorf("%+v", o)
			}
			cancelled := 0
			for _, j := range s.world.jobs {
				if j.status == offer.Cancelled {
					cancelled++
				}
			}
			if cancelled < c.ended {
				t.Errorf("%d launches were cancelled, want %d", cancelled, c.ended)
			}
			s.opts.Targets = nil
			if got := s.counts(); got.Changes() {
				t.Errorf("the plan after it: %+v", got)
			}
			if j := s.state().Jobs["phase.old"]; j != nil && j.Status != state.Forgotten {
				t.Errorf("the old record is left: %+v", j)
			}
		})
	}
}
