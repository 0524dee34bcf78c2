package apply

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// imported is the reason recorded with the attempt of a job that was started
// without muster.
const imported = "imported"

// verifyImport checks the outputs of a job that ran without our wrapper.
func (oc *outcomes) verifyImport(f *attempt, o *offer.Observation, n int) {
	kept := *o
	at := f.filesystem()
	r, diags := f.p.Render(int(f.cell), lang.Target{Workdir: at.Workdir, Backend: f.B.Name, Pool: f.Pool, SourceDir: source.In(at.Workdir, f.p.source),
		Input: func(name string) []string { return oc.inputs.inputPaths(f, name) }})
	if diags.HasErrors() {
		oc.importFailed(f, &kept, n, diags.Err().Error())
		return
	}
	job := providers.Job{Workdir: at.Workdir}
	jobspec.FillFiles(&job, f.p.Phase, r, func(name string) []string { return oc.inputs.inputPaths(f, name) })
	f.mark(cells.Verifying)
	var got []offer.Output
	var err error
	f.B.Call(func() {
		got, err = f.B.Provider.Verify(oc.Context(), providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Outputs: job.Outputs, Open: true})
	}, func() {
		switch {
		case oc.attempts[f.Token] != f || err != nil && connection.ClassOf(err) == "":
		case err != nil:
			oc.backends.Unreachable(f.B, err)
			oc.Later(connection.BackoffMax, func() {
				if oc.attempts[f.Token] == f {
					oc.verifyImport(f, &kept, n)
				}
			})
		default:
			oc.judgeImport(f, &kept, n, got)
		}
	})
}

func (oc *outcomes) judgeImport(f *attempt, o *offer.Observation, n int, got []offer.Output) {
	for _, out := range got {
		if !out.OK {
			oc.importFailed(f, o, n, "output "+out.Name+": "+out.Verdict)
			return
		}
	}
	o.Outputs = got
	oc.succeeded(f, o, n)
}

func (oc *outcomes) importFailed(f *attempt, o *offer.Observation, n int, why string) {
	o.Status, o.Class, o.Reason = offer.Failed, failure.MissingFile, why
	oc.failedAttempt(f, o, n)
}
