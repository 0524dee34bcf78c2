package attempt

import (
	"context"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// An Ended launch is one whose command exited 0.
type Ended struct {
	guard.Start
	Shape   offer.Shape // as scaled for this launch
	Marks   verify.Baseline
	Scratch string // its folder on the node's disk; "" = none
}

// Verify copies outputs from the node's disk to their paths, opens all declared outputs there,
// within their bounds, and reads the metrics. It ends with ctx.
func (e Ended) Verify(ctx context.Context) verify.Result {
	task := Task(e.Job, e.Shape, e.Marks)
	switch err := e.stageOut(ctx); {
	case err != nil && ctx.Err() != nil:
		return task.Ended(nil, context.Cause(ctx))
	case err != nil:
		return verify.Result{Wrong: err.Error()}
	}
	return verifier.Run(ctx, task, verifier.Limits{CPUs: e.Shape.CPUs, Umask: e.Job.Umask})
}

// Task is the verification of a job's outputs after a launch with a shape.
func Task(j *providers.Job, shape offer.Shape, marks verify.Baseline) verify.Task {
	return verify.Task{Workdir: j.Workdir, Outputs: j.Outputs, Metrics: j.Metrics, Walltime: shape.Walltime, Judged: true, Marks: marks}
}
