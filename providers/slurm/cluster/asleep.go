package cluster

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// Resumes is how long the nodes of a partition may take to boot for a job of a
// shape: they are powered down, and too few others are up with an idle core. 0 =
// no node must boot, or it is unknown. slurm.conf(5), ResumeTimeout; `sbatch
// --test-only` counts them as idle.
func (s *Facts) Resumes(l *Partition, shape offer.Shape, constraint string) time.Duration {
	ready, asleep := 0, 0
	for _, n := range l.together(shape, constraint) {
		if n.ready {
			ready++
		}
		if n.asleep {
			asleep++
		}
	}
	if nodes := max(shape.Nodes, 1); ready >= nodes || ready+asleep < nodes {
		return 0
	}
	return s.resume
}

// Asleep is how many nodes of a partition are powered down until a job needs
// them, and how many there are in all.
func (l *Partition) Asleep() (n, of int) {
	for i := range l.nodes {
		if l.nodes[i].asleep {
			n++
		}
	}
	return n, len(l.nodes)
}

// ResumeTime is how long a node may take to come up; 0 = not told.
func (s *Facts) ResumeTime() time.Duration { return s.resume }
