package batch

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/failure"
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

// TestPackKilled: when the node of a pack dies, the jobs that ran failed with it, and
// their shares and those of the jobs that ended before add up to how long it lasted. A
// job that never began has no share, and is submitted again.
func TestPackKilled(t *testing.T) {
	// Requirement: CST-04
	t.Parallel()
	const lasted = 3 * time.Hour
	for name, c := range map[string]struct {
		ends  []time.Duration // after the beginning; 0 = never began, lasted = killed
		share time.Duration   // of each that was killed
	}{
		"all":                     {[]time.Duration{lasted, lasted, lasted, lasted}, 45 * time.Minute},
		"the last one":            {[]time.Duration{time.Hour, time.Hour, time.Hour, lasted}, 2*time.Hour + 15*time.Minute},
		"two, after two":          {[]time.Duration{2 * time.Hour, time.Hour, lasted, lasted}, 15*time.Minute + 20*time.Minute + 30*time.Minute},
		"all but one not begun":   {[]time.Duration{0, lasted, lasted, lasted}, time.Hour},
		"one ended and one began": {[]time.Duration{0, 0, time.Hour, lasted}, 2*time.Hour + 30*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.submit("batch0123456789", k.pack("p", k.jobs("a", len(c.ends), nil))...)
			batch := k.s.backends[k.b.Name].campaign.jobs.batches[0]
			began := time.Now().Add(-4 * time.Hour).Truncate(time.Second)
			batch.tried = began.Add(-time.Minute)
			for i, end := range c.ends {
				token := "a" + strconv.Itoa(i)
				b := node.Begin{Token: token, ID: "1", At: began, Node: "cpu1"}
				if end > 0 {
					k.starts(b)
				}
				if 0 < end && end < lasted {
					k.record(token, node.End{Begin: b, Final: true, Seen: offer.Observation{Token: token, Presence: offer.Found, Handle: "1", Status: offer.Completed, Attempt: 1, Started: began, Ended: began.Add(end), Usage: &offer.Usage{Elapsed: end}}})
				}
			}
			stamp := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
			row := values{"JobID": "1", "JobName": batch.Name, "State": "NODE_FAIL", "ExitCode": "0:0", "Submit": stamp(began), "Start": stamp(began), "End": stamp(began.Add(lasted)),
				"ElapsedRaw": "10800", "NodeList": "cpu1", "AllocTRES": "billing=8,cpu=8,mem=16G,node=1"}
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] == "sacct" {
					return &command.Result{Out: printed(argv, row)}
				}
				return nil
			}
			for i, end := range c.ends {
				o := k.found("a" + strconv.Itoa(i))
				switch {
				case end == 0:
					if o.Status != offer.Queued || o.Usage != nil {
						t.Errorf("job %d never began, and is %s, used %+v", i, o.Status, o.Usage)
					}
				case end < lasted:
					if o.Status != offer.Completed {
						t.Errorf("job %d completed, and is %s", i, o.Status)
					}
				case o.Status != offer.Failed || o.Class != failure.NodeFailure || o.Usage == nil || o.Usage.Elapsed != lasted || o.Usage.NodeTime != c.share:
					t.Errorf("job %d is %s, %s, used %+v, not %s of the node", i, o.Status, o.Class, o.Usage, c.share)
				}
			}
		})
	}
}
