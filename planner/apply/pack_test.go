package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// timed has jobs of an hour at most.
func timed(hcl string) string {
	return strings.ReplaceAll(hcl, "job {", "job {\n    resources { walltime = \"1h\" }")
}

// packing is a stage on a cluster whose nodes take so many jobs.
func packing(t *testing.T, hcl string, pack int) *stage {
	t.Helper()
	s := newStage(t, timed(hcl))
	s.world.can = offer.Capabilities{Holds: true, Arrays: true, Dependencies: true, Requeues: true, Events: true}
	s.world.pack, s.world.slots = pack, 100
	return s
}

// packs are the sizes of the packs that were submitted, 1 for a job alone.
func (s *stage) packs() (sizes []int) {
	of := map[string]int{}
	for _, j := range s.world.jobs {
		of[j.Pack]++
		if n := j.Shape.Pack; j.Pack == "" && n > 1 || j.Pack != "" && (n < 2 || j.Retry.Max != 1) {
			s.t.Errorf("%s: pack %q of %d, %d launches", j.Address, j.Pack, n, j.Retry.Max)
		}
	}
	for name, n := range of {
		if name == "" {
			sizes = append(sizes, slices.Repeat([]int{1}, n)...)
			continue
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return sizes
}

// TestPacks: like jobs that start together share nodes, and each has its share of their
// charge set aside.
func TestPacks(t *testing.T) {
	t.Parallel()
	s := packing(t, grid, 4)
	s.must(t.Context())
	if got := s.packs(); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("packs of %v", got)
	}
	shares := map[string]int{}
	for _, j := range s.state().Jobs {
		shares[j.Attempts[0].Ceiling["node_hours"]+" of "+j.Attempts[0].Rates["pack"]]++
	}
	if fmt.Sprint(shares) != "map[0.25 of 4:4 0.5 of 2:2]" {
		t.Errorf("set aside %v", shares)
	}
}

// TestPacksWait: jobs that become ready one by one wait for those that share their node,
// and no longer than until nothing runs that would make another ready.
func TestPacksWait(t *testing.T) {
	t.Parallel()
	s := packing(t, chain, 4)
	s.world.result = func(j providers.Job, _ int) (r jobResult) {
		for n, address := range []string{`phase.a["n=1"]`, `phase.a["n=2"]`, `phase.a["n=3"]`} {
			if j.Address == address {
				r.takes = time.Duration(n) * 100 * time.Millisecond // one after another
			}
		}
		return r
	}
	s.must(t.Context())
	if got := s.packs(); !slices.Equal(got, []int{1, 2, 3, 4}) { // c; b; a; b
		t.Errorf("packs of %v", got)
	}
}

// TestPacksAndBudget: a pack starts as a whole, or not at all, and never above a budget.
func TestPacksAndBudget(t *testing.T) {
	t.Parallel()
	s := packing(t, "budget \"b\" { limits = { node_hours = 1.5 } }\n"+grid, 4)
	s.world.stall = true
	s.conf = detached
	o := s.must(t.Context())
	if got := s.packs(); !slices.Equal(got, []int{4}) || o.Submitted != 4 || !strings.HasPrefix(o.First, `budget "b" does not cover`) {
		t.Errorf("packs of %v, %d submitted, then %q", got, o.Submitted, o.First)
	}
}

// TestPackRetries: a job of a pack that fails is launched again by muster, in a later
// pack or alone.
func TestPackRetries(t *testing.T) {
	t.Parallel()
	s := packing(t, retrying(`"oom"`, ""), 4)
	s.world.result = func(_ providers.Job, launch int) jobResult {
		if launch == 1 {
			return jobResult{exit: 1, class: "oom"}
		}
		return jobResult{}
	}
	o := s.must(t.Context())
	if o.Failed != 0 || o.Held != 0 {
		t.Errorf("%+v", o)
	}
	for _, n := range s.packs() {
		if n > 4 {
			t.Errorf("packs of %v", s.packs())
		}
	}
}

// TestPacksKeepCaps: a phase of which two may run at once has packs of two.
func TestPacksKeepCaps(t *testing.T) {
	t.Parallel()
	s := packing(t, strings.Replace(grid, "job {", "max_parallel = 2\n  job {", 1), 4)
	s.must(t.Context())
	if got := s.packs(); !slices.Equal(got, []int{2, 2, 2}) {
		t.Errorf("packs of %v", got)
	}
}

// TestPackHasItsNode: until the last job of a pack has ended, its whole node is set
// aside: no budget covers another in place of those that ended early.
func TestPackHasItsNode(t *testing.T) {
	t.Parallel()
	const slow = 300 * time.Millisecond
	s := packing(t, "budget \"b\" { limits = { node_hours = 2 } }\n"+grid+`
phase "z" {
  job {
    command = "true > ${output.o}"
    output "o" { path = "z.txt" }
  }
}`, 4)
	s.world.result = func(j providers.Job, _ int) (r jobResult) {
		if j.Address == `phase.a["n=1"]` || j.Address == `phase.a["n=5"]` { // one of each pack
			r.takes = slow
		}
		return r
	}
	s.must(t.Context())
	began := map[string]time.Time{}
	for _, j := range s.world.jobs {
		began[j.Address] = j.began
	}
	if got := s.packs(); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("packs of %v", got)
	}
	first := began[`phase.a["n=1"]`]
	if other := began[`phase.a["n=5"]`]; other.Before(first) {
		first = other
	}
	if first.IsZero() || began["phase.z"].Before(first.Add(slow)) {
		t.Errorf("phase.z began %s after a job of %s", began["phase.z"].Sub(first), slow)
	}
}

// TestPackRetriesTogether: jobs that fail moments apart share a node again when they are
// retried.
func TestPackRetriesTogether(t *testing.T) {
	t.Parallel()
	s := packing(t, strings.Replace(retrying(`"preempted"`, ""), `"1ms"`, `"1s"`, 1), 4)
	s.world.result = func(j providers.Job, launch int) (r jobResult) {
		if launch > 1 {
			return r
		}
		for n := range 6 {
			if strings.HasSuffix(j.Address, fmt.Sprintf("n=%d\"]", n+1)) {
				r.takes = time.Duration(n) * 20 * time.Millisecond // one after another
			}
		}
		r.exit, r.class = 1, "preempted"
		return r
	}
	if o := s.must(t.Context()); o.Failed != 0 || o.Held != 0 {
		t.Errorf("%+v", o)
	}
	if got := s.packs(); !slices.Equal(got, []int{2, 2, 4, 4}) {
		t.Errorf("packs of %v", got)
	}
}

// TestPacksTakeTurns: an allocation of three hours has three jobs of an hour in each of its
// slots. Those that end leave the node to fewer, and what all of them set aside is never less
// than the node may still be charged.
func TestPacksTakeTurns(t *testing.T) {
	t.Parallel()
	s := packing(t, grid, 2)
	s.world.long = 3*time.Hour + time.Minute
	s.must(t.Context())
	if got := s.packs(); !slices.Equal(got, []int{6}) {
		t.Errorf("packs of %v", got)
	}
	for _, j := range s.world.jobs {
		if j.Shape.Slots != 2 || j.Shape.Allocation != s.world.long {
			t.Errorf("%s: %+v", j.Address, j.Shape)
		}
	}
	for _, j := range s.state().Jobs {
		if a := j.Attempts[0]; a.Ceiling["node_hours"] != "0.5" || a.Rates["pack"] != "6" || a.Rates["slots"] != "2" {
			t.Errorf("%s: set aside %v, recorded %v", j.Address, a.Ceiling, a.Rates)
		}
	}
}

// TestPacksTakeTurnsUnderACap: of a pack only as many count in max_parallel of the campaign
// as run at once.
func TestPacksTakeTurnsUnderACap(t *testing.T) {
	t.Parallel()
	for most, want := range map[int][]int{1: {1, 1, 1, 1, 1, 1}, 2: {6}, 3: {6}} {
		s := packing(t, fmt.Sprintf("campaign \"t\" { max_parallel = %d }\n", most)+grid, 2)
		s.world.long = 3 * time.Hour
		s.must(t.Context())
		if got := s.packs(); !slices.Equal(got, want) {
			t.Errorf("max_parallel = %d: packs of %v, not %v", most, got, want)
		}
	}
}

// TestPacksOfGrownJobs: retries that ask for more memory share a node only with as many as
// it has memory for.
func TestPacksOfGrownJobs(t *testing.T) {
	t.Parallel()
	s := packing(t, grid, 4)
	s.write(strings.Replace(timed(retrying(`"oom"`, "    scale \"oom_host\" { memory = 2 }\n")), `{ walltime = "1h" }`, "{\n      walltime = \"1h\"\n      memory   = \"200GB\"\n    }", 1))
	s.world.result = func(_ providers.Job, launch int) jobResult {
		if launch == 1 {
			return jobResult{exit: 1, class: "oom_host"}
		}
		return jobResult{}
	}
	if o := s.must(t.Context()); o.Failed != 0 || o.Held != 0 {
		t.Errorf("%+v", o)
	}
	sum := map[string]int64{}
	for _, j := range s.world.jobs {
		if sum[j.Pack] += j.Shape.Memory; j.Pack != "" && sum[j.Pack] > 1<<40 {
			t.Errorf("the jobs of a node ask for %d GB, and it has 1 TiB", sum[j.Pack]/1e9)
		}
	}
	if got := s.packs(); !slices.Equal(got, []int{2, 2, 2, 2, 4}) {
		t.Errorf("packs of %v", got)
	}
}
