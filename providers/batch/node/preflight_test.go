package node

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// alikeNodes are reports of nodes that can work together.
func alikeNodes(hosts ...string) (all []nodeReport) {
	for _, h := range hosts {
		all = append(all, nodeReport{Host: h, Interfaces: map[string]int{"ib0": 4092, "eth0": 9000}, Driver: "550.90", Switched: true, Fabric: true, Image: "x", Lost: map[string]string{}})
	}
	return all
}

// What keeps the nodes of a job from working together, and which of them is at fault.
func TestUnfitNodes(t *testing.T) {
	// Requirement: MN-01, MN-04
	t.Parallel()
	hosts := []string{"a", "b", "c", "d"}
	for name, c := range map[string]struct {
		change func(all []nodeReport) []nodeReport
		want   map[string]string // host: part of why
	}{
		"alike":             {func(all []nodeReport) []nodeReport { return all }, nil},
		"silent":            {func(all []nodeReport) []nodeReport { return all[:3] }, map[string]string{"d": "did not answer within 1m"}},
		"no fabric manager": {func(all []nodeReport) []nodeReport { all[1].Fabric = false; return all }, map[string]string{"b": "no fabric manager runs"}},
		"another driver":    {func(all []nodeReport) []nodeReport { all[0].Driver = "535.1"; return all }, map[string]string{"a": "differs in the NVIDIA driver: 535.1 there, 550.90 on most"}},
		"no GPUs":           {func(all []nodeReport) []nodeReport { all[2].Driver = ""; return all }, map[string]string{"c": "none there, 550.90 on most"}},
		"another MTU": {func(all []nodeReport) []nodeReport {
			all[3].Interfaces = map[string]int{"ib0": 4092, "eth0": 1500}
			return all
		}, map[string]string{"d": "eth0 (MTU 1500), ib0 (MTU 4092) there, eth0 (MTU 9000)"}},
		"another image": {func(all []nodeReport) []nodeReport { all[1].Image = "y"; return all }, map[string]string{"b": "differs in the image"}},
		"one not reached": {func(all []nodeReport) []nodeReport {
			for _, i := range []int{0, 1, 3} {
				all[i].Lost["c"] = "no route to host"
			}
			all[2].Lost["a"] = "no route to host"
			return all
		}, map[string]string{"c": "cannot be reached from a, b, d: no route to host"}},
		"two, as many of each kind": {func(all []nodeReport) []nodeReport {
			all[2].Driver, all[3].Driver = "535.1", "535.1"
			return all
		}, map[string]string{"c": "535.1 there", "d": "535.1 there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := unfitNodes(hosts, c.change(alikeNodes(hosts...)))
			if len(bad) != len(c.want) {
				t.Fatalf("unfit are %v", bad)
			}
			for host, why := range maps.All(c.want) {
				if !strings.Contains(bad[host], why) {
					t.Errorf("%s %q, want %q", host, bad[host], why)
				}
			}
		})
	}
}

// Nodes that meet in a folder find each other, and say what they have.
func TestNodesMeet(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ended := make(chan error)
	hosts := []string{"a", "b", "c"}
	for _, h := range hosts {
		go func() { ended <- nodeCheck(folder, h, "", len(hosts)) }()
	}
	for range hosts {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	all := reports(folder, ".done")
	if len(all) != 3 || all[0].Port == 0 {
		t.Fatalf("%+v", all)
	}
	for _, r := range all {
		if len(r.Addresses) > 0 && len(r.Lost) > 0 {
			t.Errorf("%s does not reach %v", r.Host, r.Lost)
		}
	}
}

// spanned is a scheduler whose job has three nodes, which report what a test says.
type spanned struct {
	cluster.Node
	reports []nodeReport
}

func (s spanned) Hosts(context.Context) ([]string, error) {
	return []string{"a.example.org", "b.example.org", "c.example.org"}, nil
}

func (s spanned) Each(_, argv []string) []string {
	folder := argv[slices.Index(argv, "-check")+1]
	for _, r := range s.reports {
		if err := writeReport(folder, r.Host+".done", r); err != nil {
			panic(err)
		}
	}
	return []string{"true"}
}

// TestPreflight: a job whose nodes cannot work together does not start, and may start
// elsewhere; one that may have fewer starts on those that can.
func TestPreflight(t *testing.T) {
	// Requirement: MN-01, MN-06
	t.Parallel()
	for name, c := range map[string]struct {
		silent string
		least  int
		class  string
		hosts  string
	}{
		"all fit":                  {"", 0, "", "a.example.org,b.example.org,c.example.org 3"},
		"one is silent":            {"c", 0, failure.NodeFailure, ""},
		"one may be missing":       {"c", 2, "", "a.example.org,b.example.org 2"},
		"too many are missing":     {"c", 3, failure.NodeFailure, ""},
		"the first may not be one": {"a", 2, failure.NodeFailure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			all := slices.DeleteFunc(alikeNodes("a", "b", "c"), func(r nodeReport) bool { return r.Host == c.silent })
			j := w.job("echo $MUSTER_HOSTS $MUSTER_NODES >> ran")
			j.Shape.Nodes, j.Shape.MinNodes = 3, c.least
			_, e := w.run(j, allocation{job: "5", scheduler: spanned{reports: all}})
			ran, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
			if e.Seen.Class != c.class || strings.TrimSpace(string(ran)) != c.hosts || c.class != "" && !strings.Contains(e.Seen.Reason, c.silent+" did not answer") {
				t.Errorf("ran on %q: %+v", ran, e.Seen)
			}
			if left, _ := filepath.Glob(w.spool.path("run", "*.check")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
