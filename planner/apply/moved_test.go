package apply

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/apply/staging"
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
