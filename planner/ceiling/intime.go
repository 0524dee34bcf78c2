package ceiling

import "time"

const (
	mostGrace = 30 * time.Second // between TERM and KILL
	toDie     = 2 * time.Second  // and to be gone after that
)

// InTime is when a job is asked to end that is to be over by its walltime, and
// how long after that it is killed.
func InTime(walltime time.Duration) (asked, grace time.Duration) {
	grace = min(mostGrace, walltime/8)
	return walltime - grace - min(toDie, walltime/32), grace
}
