package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// WriteBounds keeps the bounds of a batch's jobs beside them.
func (b Batch) WriteBounds(most scheduler.Bounds) error {
	return writeJSON(filepath.Join(string(b), "bounds"), most)
}

// Bounds are those that WriteBounds kept, none where it has not.
func (b Batch) Bounds() (most scheduler.Bounds) {
	if text, err := os.ReadFile(filepath.Join(string(b), "bounds")); err == nil {
		json.Unmarshal(text, &most) // without it nothing is bounded but by the scheduler
	}
	return most
}

// Growth is the additional memory or time for the next start of a job. A scheduler changes
// both for a job that waits in its queue: scontrol(1), MinMemoryNode and TimeLimit ("or, if
// the job is pending, up to the partition's limit").
type Growth struct {
	Memory   int64         `json:"memory,omitempty"`   // bytes of one node; 0 = as before
	Walltime time.Duration `json:"walltime,omitempty"` // 0 = as before
	// Granted says that the scheduler has accepted it: only then may the next start run.
	Granted bool `json:"granted"`
}

// shape is the shape that this start got.
func (s *start) shape() offer.Shape { return s.spool.Shape(s.job, s.begin.Restart) }

// Shape is the shape of one start of a job.
func (s Spool) Shape(j *providers.Job, restart int) offer.Shape {
	shape := j.Shape
	for n := range restart {
		e, err := s.ReadEnd(j.Token, n)
		if err != nil || e.Growth == nil || !e.Growth.Granted {
			continue
		}
		if e.Growth.Memory > 0 {
			shape.Memory = e.Growth.Memory * int64(max(shape.Nodes, 1))
		}
		if e.Growth.Walltime > 0 {
			shape.Walltime = e.Growth.Walltime
		}
	}
	return shape
}

// A Grant is the resources that the scheduler gave one start of a job.
type Grant struct {
	Restart int
	Cores   int // 0 = not known
	Pack    int // jobs of the pack that it was in; 0 = none was
}

// Got is the shape of one start of a job; nil = as the job requests. A scheduler
// gives whole cores, and more of them where one may not have so much memory.
func (s Spool) Got(j *providers.Job, g Grant) *offer.Shape {
	got := s.Shape(j, g.Restart)
	if g.Cores > 0 {
		got.CPUs = g.Cores
	}
	got = got.Together(g.Pack)
	if got.Memory == j.Shape.Memory && got.Walltime == j.Shape.Walltime && got.CPUs == max(j.Shape.CPUs, 1) && max(got.Pack, 1) == max(j.Shape.Pack, 1) {
		return nil
	}
	return &got
}

// cores is the sum of a list of cores on nodes, "16(x2),8"; 0 = it cannot be read.
// sbatch(1), SLURM_JOB_CPUS_PER_NODE.
func cores(list string) (n int) {
	for each := range strings.SplitSeq(list, ",") {
		text, times, repeated := strings.Cut(strings.TrimSuffix(each, ")"), "(x")
		if !repeated {
			times = "1"
		}
		of, err := strconv.Atoi(text)
		nodes, err2 := strconv.Atoi(times)
		if err != nil || err2 != nil || of < 0 || nodes < 0 {
			return 0
		}
		n += of * nodes
	}
	return n
}

// boundsOf is the most that a pool gives a job of so many nodes.
func boundsOf(b scheduler.Bounds, nodes int) retry.Bound {
	return retry.Bound{Memory: b.Memory * int64(max(nodes, 1)), Walltime: b.Walltime}
}

// growth is the difference between two shapes: nil where there is none. It reports false for a
// change that needs a new job: other devices, cores or scratch space, or less of anything.
func growth(now, next offer.Shape) (*Growth, bool) {
	if next.CPUs != now.CPUs || next.GPUs != now.GPUs || next.Disk != now.Disk {
		return nil, false
	}
	var g Growth
	if next.Memory != now.Memory {
		nodes := int64(max(now.Nodes, 1))
		g.Memory = (next.Memory + nodes - 1) / nodes
	}
	if next.Walltime != now.Walltime {
		g.Walltime = next.Walltime
	}
	if g == (Growth{}) {
		return nil, true
	}
	return &g, true
}
