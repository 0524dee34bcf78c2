package warnings

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// works are 20 jobs of a shape on a pool.
func works(s offer.Shape) []Work {
	return []Work{{Phase: &lang.Phase{Name: "a"}, Placements: []place.Decision{{}, {Backend: "slurm.x", Pool: "cpu", Shape: s}}, Starting: map[int]int{1: 20}}}
}

// TestUnusedCores: on whole nodes without GPUs the plan says how many cores stay idle, and
// what would use them, or why nothing does.
func TestUnusedCores(t *testing.T) {
	t.Parallel()
	pool := offer.Pool{Backend: "slurm.x", Name: "cpu", Word: "partition", CPUs: 64, Memory: 256 << 30, WholeNode: true}
	packing := pool
	packing.Pack = true
	for _, c := range []struct {
		name  string
		pool  offer.Pool
		shape offer.Shape
		want  string // "" = nothing is said
	}{
		{"no pack", pool, offer.Shape{CPUs: 16}, `of the 64 cores of a node its job uses 16. With pack = "auto" in backend.slurm.x, up to 4 jobs share a node.`},
		{"half a node", pool, offer.Shape{CPUs: 32}, "up to 2 jobs share a node."},
		{"more than half a node", pool, offer.Shape{CPUs: 33}, ""},
		{"much memory", packing, offer.Shape{CPUs: 16, Memory: 200 << 30}, "No other job fits beside it: it requests 200GiB of 256GiB of memory."},
		{"memory for two", packing, offer.Shape{CPUs: 8, Memory: 100 << 30, Pack: 2}, ""},
		{"several nodes", packing, offer.Shape{CPUs: 16, Nodes: 2}, "Jobs of several nodes share none."},
		{"packed", packing, offer.Shape{CPUs: 16, Pack: 4}, ""},
	} {
		got := strings.Join(Unused(works(c.shape), []offer.Pool{c.pool}), "\n")
		if c.want == "" && strings.Contains(got, "share a node") && !strings.Contains(got, "share it") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestTurnsNotes: why an allocation changes nothing.
func TestTurnsNotes(t *testing.T) {
	t.Parallel()
	pool := offer.Pool{Backend: "slurm.x", Name: "cpu", Word: "partition", CPUs: 64, Allocation: 4 * time.Hour}
	short := pool
	short.MaxTime = time.Hour
	for _, c := range []struct {
		name  string
		pool  offer.Pool
		shape offer.Shape
		want  string
	}{
		{"no walltime", pool, offer.Shape{}, "no walltime is stated for its jobs"},
		{"too long", pool, offer.Shape{Walltime: 3 * time.Hour}, "no second job of at most 3h fits in it"},
		{"the partition ends earlier", short, offer.Shape{Walltime: time.Hour}, "partition cpu ends jobs at 1h, in which no second job of at most 1h fits"},
		{"several nodes", pool, offer.Shape{Walltime: time.Hour, Nodes: 2}, "jobs of several nodes have allocations of their own"},
		{"turns", pool, offer.Shape{Walltime: time.Hour, Pack: 4, Slots: 1, Allocation: 4 * time.Hour}, "20 jobs on slurm.x cpu wait in the queue as 5 allocations of at most 4h each, in which up to 4 run one after another"},
	} {
		if got := strings.Join(Turns(works(c.shape), []offer.Pool{c.pool}), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := Turns(works(offer.Shape{Walltime: time.Hour}), []offer.Pool{{Backend: "slurm.x", Name: "cpu"}}); got != nil {
		t.Errorf("nothing is asked for: %q", got)
	}
}
