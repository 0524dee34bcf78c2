package preview

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestCutIntoArrays: no array that is shown has more jobs than the cluster takes,
// and it is said how many there are.
func TestCutIntoArrays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs, most int
		apart      bool
		sizes      []int
		says       string
	}{
		{120, 50, false, []int{50, 50, 20}, ", 3 arrays like this one: 50 jobs each, the last 20"},
		{50, 50, false, []int{50}, ""},
		{1, 50, false, []int{1}, ""},
		{3, 50, true, []int{1}, ""}, // smokes, one after another
	} {
		l := likeJobs{count: c.jobs, apart: c.apart}
		if got := l.sizes(c.most); !slices.Equal(got, c.sizes) || l.cut(got) != c.says {
			t.Errorf("%d jobs, %d at most: %d, %q", c.jobs, c.most, got, l.cut(got))
		}
	}
}

// TestShapes: of many like jobs the first and the last command is shown, what they
// differ in, and how they would be submitted; whole is what is asked for.
func TestShapes(t *testing.T) {
	t.Parallel()
	c := campaign(t, `campaign "c" {}
backend "local" "local" {}
phase "a" {
  grid { axes = { i = range(0, 5000) } }
  job {
    command = "work ${cell.i} > ${output.r}"
    output "r" { path = "a${cell.i}" }
  }
}
phase "b" {
  grid { axes = { i = range(0, 5000) } }
  job {
    command = "cat ${input.x} > ${output.r}"
    input "x" { from = phase.a.output.r }
    output "r" { path = "b${cell.i}" }
  }
}
`)
	c.Backends = append(c.Backends, &lang.Backend{Type: "slurm", Name: "x", Workdir: "/work"})
	plan := &planner.Plan{}
	for _, p := range c.Phases {
		pp := &planner.PhasePlan{Phase: p, Kind: make([]planner.Kind, p.Len()), Place: make([]uint16, p.Len()), Placements: []place.Decision{{}, {Backend: "slurm.x", Pool: "p"}}}
		for i := range pp.Kind {
			pp.Kind[i], pp.Place[i] = planner.Run, 1
		}
		plan.Phases = append(plan.Phases, pp)
	}
	v := Preview{Campaign: c, Plan: plan, Pools: []offer.Pool{{Backend: "slurm.x", Name: "p"}}}
	text := func() string {
		t.Helper()
		text, diags, err := v.Scripts()
		if err != nil || diags.HasErrors() {
			t.Fatal(err, diags)
		}
		return text
	}
	got := text()
	for _, want := range []string{"work 0 > /work/a0\n", "work 4999 > /work/a4999\n", "4,998 jobs between these two", "i  0, 1, 2, 3, … 4999 (5,000 values)",
		"sbatch --parsable --hold '--comment=held by muster until all of its campaign is in' script.sh", "while those have not ended: #SBATCH --dependency=aftercorr:ID-OF-a\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 200 || strings.Contains(got, "work 2 >") || strings.Contains(got, "\n#SBATCH --dependency") {
		t.Errorf("%d lines:\n%s", lines, got)
	}
	v.Whole = func(address string) bool { return strings.HasPrefix(address, `phase.b["i=7`) }
	if got = text(); strings.Count(got, "# phase.b[") != 111 || strings.Contains(got, "phase.a[") {
		t.Errorf("whole: %d of b, %d of a", strings.Count(got, "# phase.b["), strings.Count(got, "phase.a["))
	}
	// What is done is submitted no more, and nothing comes after it.
	v.Whole = nil
	for i := range plan.Phases[0].Kind {
		plan.Phases[0].Kind[i] = planner.None
	}
	if got = text(); strings.Contains(got, "dependency") || strings.Contains(got, "--hold") {
		t.Errorf("with what it reads done:\n%s", got)
	}
}
