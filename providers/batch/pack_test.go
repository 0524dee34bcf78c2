package batch

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// pack makes jobs one pack.
func (k *bench) pack(name string, jobs []providers.Job) []providers.Job {
	for i := range jobs {
		jobs[i].Pack, jobs[i].Shape.Pack = name, len(jobs)
		jobs[i].Shape.CPUs, jobs[i].Shape.Memory = 2, 4<<30
	}
	return jobs
}

// rowOf is the row of a job that is no element of an array.
func rowOf(id, name, state string) values {
	return values{"%F": id, "%A": id, "%K": "N/A", "%T": state, "%r": "None", "%V": "1", "%j": name}
}

// TestPack: the jobs of a pack are one job of the scheduler, as large as all of them.
// What comes after some of them waits for its end, and looks then.
func TestPack(t *testing.T) {
	// Requirement: E16
	t.Parallel()
	k := newBench(t)
	jobs := k.pack("p", k.jobs("a", 4, nil))
	jobs = append(jobs, k.jobs("b", 1, func(int) []string { return []string{"a2"} })...)
	jobs = append(jobs, k.jobs("c", 1, func(int) []string { return []string{"a0", "a1", "a2", "a3"} })...)
	jobs = append(jobs, k.pack("q", k.jobs("d", 2, func(i int) []string { return []string{"b0", []string{"a0", "a1"}[i]} }))...)
	sent := k.submit("batch0123456789", jobs...)
	for i, r := range sent {
		if r.Err != nil || r.Handle == "" {
			t.Fatalf("job %d: %+v", i, r)
		}
	}
	if sent[0].Handle != sent[3].Handle || sent[4].Handle == sent[0].Handle {
		t.Errorf("handles %q, %q, %q", sent[0].Handle, sent[3].Handle, sent[4].Handle)
	}
	if len(k.f.scripts) != 4 {
		t.Fatalf("%d submissions", len(k.f.scripts))
	}
	script := k.f.scripts[0]
	if directive(script, "array") != "" || directive(script, "cpus-per-task") != "8" || directive(script, "mem") != "16G" || !strings.Contains(script, "-pack 0,1,2,3\n") || !strings.Contains(script, "# 4 jobs of phase.a. They run beside one another") {
		t.Errorf("script of the pack:\n%s", script)
	}
	var after []string
	for _, s := range k.f.scripts[1:] {
		after = append(after, directive(s, "dependency"))
	}
	if want := []string{"afterany:1", "afterany:1,afterok:2", "afterok:1"}; !slices.Equal(slices.Sorted(slices.Values(after)), want) {
		t.Errorf("dependencies %q, not %q", after, want)
	}
}

// TestPackCancelled: one job of a pack is cancelled without the others.
func TestPackCancelled(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.pack("p", k.jobs("a", 2, nil))...)
	name := k.first()
	k.f.queued = []values{rowOf("1", name, "PENDING")}
	cancel := func(tokens ...string) (calls int) {
		t.Helper()
		if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: tokens}); err != nil {
			t.Fatal(err)
		}
		for _, c := range k.f.calls {
			if strings.HasPrefix(c, "scancel") {
				calls++
			}
		}
		return calls
	}
	if n := cancel("a1"); n != 0 {
		t.Errorf("%d calls of scancel, with a job left", n)
	}
	if a, b := k.found("a0"), k.found("a1"); a.Status != offer.Queued || b.Status != offer.Cancelled {
		t.Errorf("found %s and %s", a.Status, b.Status)
	}
	if n := cancel("a0"); n != 1 {
		t.Errorf("%d calls of scancel, with none left", n)
	}
}

// TestPackEnds: a job that ended leaves its pack running, and one that never began is
// submitted again, alone.
func TestPackEnds(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.pack("p", k.jobs("a", 3, nil))...)
	name := k.first()
	k.f.queued = []values{rowOf("1", name, "RUNNING")}
	k.ends("a0", offer.Completed, "")
	if o := k.found("a0"); o.Status != offer.Completed {
		t.Fatalf("found %+v", o)
	}
	if o := k.found("a1"); o.Status != offer.Running {
		t.Errorf("found %+v", o)
	}
	for _, c := range k.f.calls {
		if strings.HasPrefix(c, "scancel") {
			t.Errorf("ran %s", c)
		}
	}
	k.restart()
	if o := k.found("a1"); o.Status != offer.Running || k.found("a0").Status != offer.Completed {
		t.Errorf("another muster found %+v", o)
	}
}

// TestPacksKeepTheLimit: the jobs of a pack run all at once, so only as many packs run
// beside one another as fit in the limit of their phase.
func TestPacksKeepTheLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int][]string{
		10: {"", "", "afterany:1", "afterany:2", "afterany:3"},
		4:  {"", "afterany:1", "afterany:2", "afterany:3", "afterany:4"},
		20: {"", "", "", "", ""},
	} {
		k := newBench(t)
		var all []providers.Job
		for p := range 5 {
			all = append(all, k.pack(string(rune('a'+p)), k.jobs(string(rune('a'+p)), 4, nil))...)
		}
		for i := range all {
			all[i].Phase, all[i].Cap = "train", limit
		}
		k.submit("batch0123456789", all...)
		var got []string
		for _, s := range k.f.scripts {
			got = append(got, directive(s, "dependency"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: dependencies are %q, want %q", limit, got, want)
		}
	}
}
