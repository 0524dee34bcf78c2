package attempt

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Outputs opens the declared outputs of a job and reads its metrics into obs;
// wrong says what is wrong with them, "" if nothing is.
func Outputs(ctx context.Context, j *providers.Job, marks verify.Baseline, obs *offer.Observation) (wrong string) {
	var list []string
	for _, o := range j.Outputs {
		var found offer.Output
		if fresh, why := marks.Fresh(j.Workdir, o); !fresh {
			found = verify.Stat(j.Workdir, o)
			found.OK, found.Verdict = false, why
		} else {
			found = verify.Check(ctx, j.Workdir, o)
		}
		if !found.OK {
			list = append(list, fmt.Sprintf("output %s: %s", o.Name, found.Verdict))
		}
		obs.Outputs = append(obs.Outputs, found)
	}
	if len(j.Metrics) > 0 && len(list) == 0 {
		metrics(j, obs)
	}
	return strings.Join(list, "; ")
}

// metrics reads values from outputs that passed.
func metrics(j *providers.Job, obs *offer.Observation) {
	obs.Metrics = make(map[string]offer.Metric, len(j.Metrics))
	for _, m := range j.Metrics {
		for i, o := range j.Outputs {
			if o.Name == m.Output {
				obs.Metrics[m.Name] = verify.ReadMetric(m, obs.Outputs[i], InWorkdir(j.Workdir, o.Path))
			}
		}
	}
}

// CheckpointMark tells one state of a job's checkpoint from another; 0 = the
// job has none declared, 1 = none is there yet.
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
