package pbs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// TestPolaris: the floors and ceilings of its queues, its charge and its directives.
func TestPolaris(t *testing.T) {
	t.Parallel()
	p, err := profiles.Load("alcf-polaris", "pbs.polaris")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		min, max int
		time     time.Duration
		rerun    bool
	}{
		"debug": {1, 2, time.Hour, false}, "debug-scaling": {1, 10, time.Hour, false}, "prod": {10, 496, 24 * time.Hour, false},
		"preemptable": {1, 10, 72 * time.Hour, true}, "capacity": {1, 4, 168 * time.Hour, false}, "demand": {1, 56, time.Hour, false},
	} {
		i := slices.IndexFunc(p.Pools, func(p offer.Pool) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("there is no queue %s", name)
			continue
		}
		q := p.Pools[i]
		if q.MinNodes != want.min || q.MaxNodes != want.max || q.MaxTime != want.time || p.Queues[name].Rerun != want.rerun || q.GPUs != 4 || q.CPUs != 32 || !q.WholeNode || q.Price.SUPerNodeHour != "1" {
			t.Errorf("%+v", q)
		}
	}
	if !slices.Equal(p.Requires, []string{"account", "filesystems"}) || p.Verified != "2026-05" || !p.Queues["demand"].Request {
		t.Errorf("%+v", p)
	}
}

// TestShipped: every profile and the template read.
func TestShipped(t *testing.T) {
	t.Parallel()
	entries, err := files.ReadDir("profiles")
	if err != nil || len(entries) != len(profiles.Names())+1 || !slices.Equal(profiles.Names(), []string{"alcf-crux", "alcf-polaris"}) {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		src, _ := files.ReadFile("profiles/" + e.Name())
		p, err := parseProfile(e.Name(), "pbs.x", src)
		if err != nil || len(p.Pools) == 0 {
			t.Errorf("%s: %v", e.Name(), err)
		}
		for _, line := range strings.Split(string(src), "\n") {
			if strings.HasPrefix(line, "# balance") {
				src = []byte(strings.Replace(string(src), "# balance", "balance", 1))
			}
		}
		if _, err := parseProfile(e.Name(), "pbs.x", src); err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
	}
}

// TestBroken: every mistake is told, with its line.
func TestBroken(t *testing.T) {
	t.Parallel()
	_, err := parseProfile("site.hcl", "pbs.x", []byte("site = \"x\"\nverified = \"May\"\nqueue \"a\" {\n  max_time = \"1\"\n  min_nodes = 5\n  max_nodes = 2\n}\nqueue \"a\" { max_time = \"1h\" }\n"))
	for _, want := range []string{"site.hcl:2: verified is \"May\"", "site.hcl:4: queue \"a\": max_time", "site.hcl:5: queue \"a\": min_nodes is 5", "site.hcl:8: queue \"a\" appears twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %q", err, want)
		}
	}
	if _, err := profiles.Load("alcf-polari", "x"); err == nil || !strings.Contains(err.Error(), "alcf-polaris") {
		t.Errorf("a name that is not there: %v", err)
	}
}
