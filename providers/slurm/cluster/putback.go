package cluster

import "github.com/muster-run/muster/providers/failure"

// WhyPutBack is the class and the reason of a launch that Slurm put back, by the
// state of its row. slurm.conf(5), PreemptMode, JobRequeue; sacct(1), -D.
func WhyPutBack(state string, begun bool) (class, reason string) {
	switch word := StateWord(state); {
	case !begun:
		return failure.NodeFailure, "it was put back before its command began: its node could not be made ready, or its volume was full; Slurm says " + state
	case word == "NODE_FAIL" || word == "BOOT_FAIL":
		return failure.NodeFailure, "its node failed, and Slurm requeued it"
	case word == "PREEMPTED":
		return failure.Preempted, "preempted, and Slurm requeued it"
	}
	return failure.Preempted, "Slurm requeued it"
}
