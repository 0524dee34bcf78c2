package place

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// quoted answers for pools of the cluster, in the order in which they stand.
func quoted(s offer.Shape, by map[string]offer.Quote) func(*Input) {
	return func(in *Input) {
		for name, q := range by {
			q.Backend, q.Pool = "slurm.alpine", name
			in.Quotes = append(in.Quotes, Quoted{Shape: s, Quote: q})
		}
	}
}

// TestToldOfAllPools: what a backend says of all its pools alike is said of the backend; what
// one pool lacks besides is not.
func TestToldOfAllPools(t *testing.T) {
	s := cpu(1, time.Hour)
	g := Group{Shape: s, Candidates: []string{"slurm.alpine"}}
	wrong := offer.Quote{Why: "there is no qos lnog here; did you mean long?", Would: `set qos = "long"`, Wait: -1}
	all := map[string]offer.Quote{"aa100": wrong, "atesting_a100": wrong, "al40": wrong, "amilan": wrong}
	d, said := decide(t, g, quoted(s, all))
	want := "No place fits: Every candidate was looked at:\n  slurm.alpine: there is no qos lnog here; did you mean long?\n\nWhat would fit: set qos = \"long\"."
	if d.Backend != "" || said != want {
		t.Errorf("goes to %q\ngot  %s\nwant %s", goes(d), said, want)
	}
	other := wrong
	other.Why = "partition al40 has no GPUs"
	all["al40"] = other
	if _, said := decide(t, g, quoted(s, all)); !strings.Contains(said, "slurm.alpine, aa100, amilan: there is no qos lnog here") || !strings.Contains(said, "is for tests only") {
		t.Errorf("of all but one it is told by name: %s", said)
	}
	other.Why, other.MaxTime = wrong.Why, 2*time.Hour
	for name := range all {
		all[name] = other
	}
	if _, said := decide(t, g, quoted(s, all)); !strings.Contains(said, "atesting_a100: is for tests only") && !strings.Contains(said, "partition atesting_a100 is for tests only") {
		t.Errorf("one that a shorter walltime mends is told by pool: %s", said)
	}
}

// TestShut: of a pool that takes nothing of the user's, no other shape is a way out.
func TestShut(t *testing.T) {
	t.Parallel()
	s := cpu(1, time.Hour)
	s.Nodes, s.GPUs = 20, 20
	g := Group{Shape: s, Candidates: []string{"slurm.alpine"}}
	q := offer.Quote{Why: "partition aa100 is for accounts ucb, not mine", Would: `set account = "ucb" in the backend block`, Wait: -1}
	for shut, way := range map[bool]string{false: "nodes = 11", true: q.Would} {
		q.Shut = shut
		d, said := decide(t, g, quoted(s, map[string]offer.Quote{"aa100": q}), func(in *Input) { in.Pools = []offer.Pool{aa100} })
		if d.Backend != "" || !strings.Contains(said, way) || shut && (strings.Contains(said, "nodes = 11") || !strings.Contains(said, q.Why)) {
			t.Errorf("shut %v: %s", shut, said)
		}
	}
}

// TestFreePoolFirst: a pool of which nothing is free and of which nobody knows
// when it starts jobs does not come before one that has room, or a known wait.
func TestFreePoolFirst(t *testing.T) {
	pool := func(name string, idle int, wait time.Duration) offer.Pool {
		return offer.Pool{Backend: "slurm.alpine", Name: name, Kind: offer.QueuePool, Word: "partition", CPUs: 64, MaxNodes: 9, Idle: idle, Total: 128, Wait: wait, Price: offer.Price{Known: true}}
	}
	for name, c := range map[string]struct {
		pools []offer.Pool
		want  string
		why   string // of the other
	}{
		"free":              {[]offer.Pool{pool("a", 0, -1), pool("b", 64, -1)}, "b", "nothing is free there now, and when it would start is not known"},
		"a known wait":      {[]offer.Pool{pool("a", 0, -1), pool("b", 0, 5*time.Minute)}, "b", "nothing is free there now"},
		"both known":        {[]offer.Pool{pool("a", 0, time.Hour), pool("b", 0, 5*time.Minute)}, "b", "starts later: about 1h"},
		"powered down":      {[]offer.Pool{pool("a", 128, 10*time.Minute), pool("b", 64, 0)}, "b", "starts later: about 10m"},
		"both full":         {[]offer.Pool{pool("a", 0, -1), pool("b", 0, -1)}, "a", "the first by name"},
		"nothing is told":   {[]offer.Pool{pool("a", -1, -1), pool("b", 64, -1)}, "a", "the first by name"},
		"the price decides": {[]offer.Pool{pool("a", 0, -1), func() offer.Pool { p := pool("b", 64, 0); p.Price.SUPerCPUHour = "2"; return p }()}, "a", "costs more"},
	} {
		d, said := decide(t, Group{Shape: cpu(1, time.Hour), Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = c.pools })
		other := ""
		for _, o := range d.Candidates {
			if !o.Won {
				other = o.Why
			}
		}
		if d.Pool != c.want || !strings.Contains(other, c.why) {
			t.Errorf("%s: goes to %s, the other %q (%s)", name, d.Pool, other, said)
		}
	}
}

// TestFewestWaves: of pools that are as good, the one comes first that runs more of
// the jobs at once; jobs that share a node count as one.
func TestFewestWaves(t *testing.T) {
	pool := func(name string, most int) offer.Pool {
		return offer.Pool{Backend: "pbs.polaris", Name: name, Kind: offer.QueuePool, Word: "queue", CPUs: 32, MaxNodes: 9, MaxJobs: most, Idle: -1, Wait: -1, WholeNode: true, Pack: true, Price: offer.Price{Known: true}}
	}
	for name, c := range map[string]struct {
		jobs  int
		pools []offer.Pool
		want  string
		why   string // of the other
	}{
		"one at a time":     {20, []offer.Pool{pool("capacity", 1), pool("preemptable", 0)}, "preemptable", "runs 4 jobs at once: 5 times one after another"},
		"as many as fit it": {4, []offer.Pool{pool("capacity", 1), pool("preemptable", 0)}, "capacity", "the first by name"},
		"fewer times":       {20, []offer.Pool{pool("a", 2), pool("b", 3)}, "b", "runs 8 jobs at once: 3 times one after another"},
	} {
		d, said := decide(t, Group{Jobs: c.jobs, Shape: cpu(8, time.Hour), Candidates: []string{"pbs.polaris"}}, func(in *Input) { in.Pools = c.pools })
		other := ""
		for _, o := range d.Candidates {
			if !o.Won {
				other = o.Why
			}
		}
		if d.Pool != c.want || !strings.Contains(other, c.why) {
			t.Errorf("%s: goes to %s, the other %q (%s)", name, d.Pool, other, said)
		}
	}
}

// TestSeenWait: a pool where jobs have waited does not lose to another of its backend of
// which no wait is known.
func TestSeenWait(t *testing.T) {
	pool := func(name string) offer.Pool {
		return offer.Pool{Backend: "pbs.polaris", Name: name, Kind: offer.QueuePool, Word: "queue", CPUs: 32, MaxNodes: 9, Idle: -1, Wait: -1, Price: offer.Price{Known: true}}
	}
	for name, c := range map[string]struct {
		waits map[string]time.Duration
		want  string
	}{
		"none":                {nil, "a"},
		"only of one":         {map[string]time.Duration{"a": time.Hour}, "a"},
		"of two, the shorter": {map[string]time.Duration{"a": time.Hour, "b": time.Minute}, "b"},
		"equal, the surer":    {map[string]time.Duration{"b": time.Hour, "c": time.Hour}, "b"},
	} {
		d, said := decide(t, Group{Shape: cpu(8, time.Hour), Candidates: []string{"pbs.polaris"}}, func(in *Input) {
			in.Pools = []offer.Pool{pool("a"), pool("b"), pool("c")}
			for i := range in.Pools {
				in.Pools[i].Rank = i
			}
			in.Waited = func(_, pool string) (time.Duration, bool) { d, ok := c.waits[pool]; return d, ok }
		})
		if d.Pool != c.want {
			t.Errorf("%s: goes to %s, not %s (%s)", name, d.Pool, c.want, said)
		}
	}
}
