package retry

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A queue retries what its job stays for, and leaves the rest to muster.
func TestAJobLeavesAfterAFailure(t *testing.T) {
	// Requirement: OOM-08
	t.Parallel()
	p := Phase{Policy: Policy{On: []string{"oom", "walltime"}, Max: 3}, Sometimes: []string{"glitch"},
		Place: map[string][]string{"oom_gpu": {"slurm.big", "vastai.x"}, "glitch": {"local.b"}, "nan": {"local.b"}}}
	for name, c := range map[string]struct{ class, on, want string }{
		"the class":                        {failure.OOMGPU, "slurm.a", "oom_gpu"},
		"there already":                    {failure.OOMGPU, "vastai.x", ""},
		"another member of its family":     {failure.OOMHost, "slurm.a", ""},
		"a class of a failure block":       {"glitch", "slurm.a", "glitch"},
		"a class that nothing tries again": {"nan", "slurm.a", ""},
	} {
		if got, ok := p.Leaves(c.class, c.on); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	family := p
	family.Place = map[string][]string{"oom": {"slurm.big"}}
	if got, _ := family.Leaves(failure.OOMSched, "slurm.a"); got != "oom" {
		t.Errorf("the family's place counts for its members: %q", got)
	}
	here, there := p.At("slurm.a"), p.At("slurm.big")
	if want := []string{failure.OOMHost, failure.OOMSched, failure.Walltime}; !slices.Equal(here.On, want) || len(here.Sometimes) != 0 {
		t.Errorf("a queue retries %q and %q, want %q", here.On, here.Sometimes, want)
	}
	if !there.Covers(failure.OOMGPU) {
		t.Error("where it went, the queue retries the class")
	}
	if got := p.Went([]Ended{{failure.OOMGPU, "slurm.a"}, {failure.OOMGPU, "slurm.big"}, {failure.Walltime, "slurm.big"}}); got != "oom_gpu" {
		t.Errorf("it stays where it went: %q", got)
	}
	if got := p.Went([]Ended{{failure.Walltime, "slurm.a"}}); got != "" {
		t.Errorf("it went nowhere: %q", got)
	}
}

// A job that could grow no more where it is has another launch elsewhere.
func TestLeavingIsNotHopeless(t *testing.T) {
	t.Parallel()
	s := offer.Shape{Memory: gib, Walltime: time.Hour}
	p := Phase{Policy: Policy{On: []string{"walltime"}, Max: 3}, Place: map[string][]string{"walltime": {"b"}}}
	if got := p.After(Failure{Class: failure.Walltime, Launch: 1, Leaves: true}, s, Bound{}); !got.Again {
		t.Errorf("%+v", got)
	}
	if got := p.Count(s, Bound{}); got != 3 {
		t.Errorf("%d launches are counted", got)
	}
}
