package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
)

// TestRefusals: what a real sbatch refuses is told by its kind, and what may
// have been submitted all the same is never taken for refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	want := map[string]providers.ErrorClass{"err-submit-limit.err": providers.Quota, "err-submit-limit-fill.err": providers.Quota,
		"frozen-sbatch.err": providers.Unreachable, "down-sbatch.err": providers.Unreachable, "err-dependency-syntax.err": providers.Unreachable}
	files, err := filepath.Glob("testdata/22.05/*.err")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if strings.Contains(name, "squeue") {
			continue
		}
		class, ok := want[name]
		if !ok {
			class = providers.Invalid
		}
		e := refusal("sbatch", command.Result{Err: recorded(t, name), Code: 1})
		if e.Class != class || e.Summary == "" || e.Detail == "" {
			t.Errorf("%s: %s: %s (%s), want class %s", name, e.Class, e.Summary, e.Detail, class)
		}
	}
	if e := refusal("squeue", command.Result{Err: recorded(t, "frozen-squeue.err"), Code: 1}); e.Class != providers.Unreachable {
		t.Errorf("a squeue that hung is %s", e.Class)
	}
}

// TestLimitReasons: a limit on how many jobs are submitted is waited out; one
// that a job can never meet is an error. The sentence is the same for both,
// the reason before it tells: slurm_errno.c, ESLURM_ACCOUNTING_POLICY.
func TestLimitReasons(t *testing.T) {
	t.Parallel()
	const sentence = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n"
	for reason, want := range map[string]providers.ErrorClass{
		"QOSMaxSubmitJobPerUserLimit": providers.Quota, "QOSMaxSubmitJobPerAccountLimit": providers.Quota, "QOSGrpSubmitJobsLimit": providers.Quota,
		"AssocMaxSubmitJobLimit": providers.Quota, "AssocGrpSubmitJobsLimit": providers.Quota, "MaxSubmitJobsPerAccount": providers.Quota, "": providers.Quota,
		"QOSMaxWallDurationPerJobLimit": providers.Invalid, "AssocMaxWallDurationPerJobLimit": providers.Invalid, "QOSMaxNodePerUserLimit": providers.Invalid,
		"QOSMaxGRESPerJob": providers.Invalid, "QOSMaxCpuPerJobLimit": providers.Invalid, "QOSMinGRES": providers.Invalid, "AssocMaxMemPerJob": providers.Invalid,
	} {
		text := sentence
		if reason != "" {
			text = "sbatch: error: " + reason + "\n" + sentence
		}
		if e := refusal("sbatch", command.Result{Err: []byte(text), Code: 1}); e.Class != want || e.Hint == "" {
			t.Errorf("%s: %s: %s (%s), want class %s", reason, e.Class, e.Summary, e.Hint, want)
		}
	}
}
