package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// Bounds are what is known of a batch's partition: the most that it gives one
// job, and what it bills; zero is not known.
type Bounds struct {
	Memory   int64         `json:"memory,omitempty"`   // bytes of one node
	Walltime time.Duration `json:"walltime,omitempty"` // nanoseconds
	Billing  int           `json:"billing,omitempty"`  // billing TRES of one job
	// Requeue are the exit statuses after which the site requeues or holds a
	// job. slurm.conf(5), RequeueExit and RequeueExitHold.
	Requeue []int `json:"requeue,omitempty"`
}

// WriteBounds keeps the bounds of a batch's jobs beside them.
func (b Batch) WriteBounds(most Bounds) error {
	return writeJSON(filepath.Join(string(b), "bounds"), most)
}

// Bounds are those that WriteBounds kept, none where it has not.
func (b Batch) Bounds() (most Bounds) {
	if text, err := os.ReadFile(filepath.Join(string(b), "bounds")); err == nil {
		json.Unmarshal(text, &most) // without it nothing is bounded but by Slurm
	}
	return most
}

// Growth is what the next start of a job needs more of. Slurm changes both for
// a job of the user's that waits in the queue: scontrol(1), MinMemoryNode and
// TimeLimit ("or, if the job is pending, up to the partition's limit").
type Growth struct {
	Memory   int64         `json:"memory,omitempty"`   // bytes of one node; 0 = as before
	Walltime time.Duration `json:"walltime,omitempty"` // 0 = as before
	// Granted says that Slurm has taken it: only then may the next start run.
	Granted bool `json:"granted"`
}

// shape is what this start was given.
func (s *start) shape() offer.Shape { return s.spool.Shape(s.job, s.begin.Restart) }

// Shape is what one start of a job was given.
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

// job is the most that the partition gives a job of so many nodes.
func (b Bounds) job(nodes int) retry.Bound {
	return retry.Bound{Memory: b.Memory * int64(max(nodes, 1)), Walltime: b.Walltime}
}

// growth is what makes one shape of another: nil where that is nothing. It
// reports false for what this Slurm job cannot be given: other devices, cores or
// scratch space, or less than it has. That needs a new one.
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

// terms are scontrol's words for it.
func (g *Growth) terms() (out []string) {
	if g.Memory > 0 {
		const mib = 1 << 20
		out = append(out, "MinMemoryNode="+strconv.FormatInt((g.Memory+mib-1)/mib, 10))
	}
	if g.Walltime > 0 {
		out = append(out, "TimeLimit="+strconv.Itoa(int((g.Walltime+time.Minute-1)/time.Minute))) // whole minutes
	}
	return out
}

// withheld says why a start must not run whose Slurm job was not given what
// the one before it lacked, "" if it was.
func (s *start) withheld() string {
	e, err := s.spool.ReadEnd(s.begin.Token, s.before)
	if err != nil || e.Growth == nil || e.Growth.Granted {
		return ""
	}
	return fmt.Sprintf("%s, and Slurm did not give the job more in its place", e.Seen.Class)
}
