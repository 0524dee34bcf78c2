package history

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// endedByTime is the failure class of a launch that its walltime ended.
const endedByTime = "walltime"

// chained reports whether the work of a phase's jobs goes on in another launch
// when one is ended at its walltime: where its pool cuts it into segments, or its
// policy retries that.
func chained(p *lang.Phase, segments int) bool {
	return p.Checkpoint != nil && (segments > 1 || p.Retry.Covers(endedByTime))
}

// Launch is how long one launch of a decision's jobs may last where the next goes
// on from its checkpoint; 0 where a job is one launch, or no walltime is stated.
func Launch(p *lang.Phase, d place.Decision) time.Duration {
	if !chained(p, d.Segments) {
		return 0
	}
	return ceiling.Segment(d.Shape, d.Segments).Walltime
}

// Longest is the most that the work of a decision's job may take, all of its
// launches together.
func Longest(p *lang.Phase, d place.Decision) time.Duration {
	if each := Launch(p, d); each > 0 {
		return each * time.Duration(ceiling.Chained(p.Retry, d.Segments))
	}
	return d.Shape.Walltime
}

// GoesOn reports whether a launch of a job was ended at its walltime, and the
// next one went on with its work.
func GoesOn(p *lang.Phase, job *state.Job, k int) bool {
	return p.Checkpoint != nil && k+1 < len(job.Attempts) && job.Attempts[k].Class == endedByTime
}

// Worked is how long the last launch of a job ran, together with those whose work
// it went on with: a launch between that failed leaves the checkpoints of those
// before it. How much of its own time it kept nobody knows; none of it counts.
func Worked(p *lang.Phase, job *state.Job) (d time.Duration) {
	for k := range job.Attempts {
		if k == len(job.Attempts)-1 || GoesOn(p, job, k) {
			d += Elapsed(&job.Attempts[k])
		}
	}
	return d
}

// Before is how long the launches ran with whose work the last one of a job goes
// on.
func Before(p *lang.Phase, job *state.Job) time.Duration {
	if len(job.Attempts) < 2 {
		return 0
	}
	return Worked(p, job) - Elapsed(job.Last())
}
