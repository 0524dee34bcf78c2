package attempt

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Verify opens the declared outputs of a job, within their bounds, and reads
// its metrics. It ends with ctx.
func Verify(ctx context.Context, j *providers.Job, shape offer.Shape, marks verify.Baseline) verify.Result {
	return verifier.Run(ctx, Task(j, shape, marks), verifier.Share{CPUs: shape.CPUs, Umask: j.Umask})
}

// Task is the verification of a job's outputs after a launch with a shape.
func Task(j *providers.Job, shape offer.Shape, marks verify.Baseline) verify.Task {
	return verify.Task{Workdir: j.Workdir, Outputs: j.Outputs, Metrics: j.Metrics, Walltime: shape.Walltime, Judged: true, Marks: marks}
}

// CheckpointMark identifies one state of a job's checkpoint; 0 = the job declares none, 1 =
// there is none yet.
func CheckpointMark(j *providers.Job) int64 {
	if j.Checkpoint.Path == "" {
		return 0
	}
	var st unix.Stat_t
	if err := unix.Stat(InWorkdir(j.Workdir, j.Checkpoint.Path), &st); err != nil {
		return 1
	}
	return st.Mtim.Nano() ^ int64(st.Ino)<<1 ^ st.Size<<40 | 2
}
