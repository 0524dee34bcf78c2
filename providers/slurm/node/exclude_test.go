package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

// TestWithout: what failed for a cause of its node keeps off it, and off those
// that it kept off before, unless no other would do.
func TestWithout(t *testing.T) {
	t.Parallel()
	refused := errors.New("exit status 1")
	for name, tt := range map[string]struct {
		class, node string
		job         string // what scontrol prints
		noJob, none error  // of scontrol, of sbatch
		want        string
		tried       string
	}{
		"a GPU lost":           {class: failure.GPULost, node: "gpu1", job: "JobId=7 ExcNodeList=(null) x=y", want: "gpu1", tried: "--exclude=gpu1"},
		"and one before":       {class: failure.OOMGPU, node: "gpu2", job: "JobId=7 ExcNodeList=gpu1 x=y", want: "gpu1,gpu2", tried: "--exclude=gpu1,gpu2"},
		"the only node":        {class: failure.GPULost, node: "gpu1", job: "JobId=7 ExcNodeList=(null)", none: refused, tried: "--exclude=gpu1"},
		"not asked":            {class: failure.GPULost, node: "gpu1", noJob: refused},
		"the job's own":        {class: failure.OOMSched, node: "gpu1"},
		"node is not known":    {class: failure.NodeFailure},
		"preempted, elsewhere": {class: failure.Preempted, node: "gpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tried []string
			s := &start{batch: "/spool/batches/k", job: &providers.Job{}, begin: Begin{ID: "7_3", Node: tt.node}}
			got := s.without(t.Context(), tt.class, func(_ context.Context, name string, args ...string) (string, error) {
				if name == "scontrol" {
					if !slices.Contains(args, "7_3") {
						t.Errorf("scontrol is asked %q", args)
					}
					return tt.job, tt.noJob
				}
				tried = append(tried, args...)
				return "", tt.none
			})
			if got != tt.want {
				t.Errorf("it keeps off %q, want %q", got, tt.want)
			}
			if tt.tried == "" && len(tried) > 0 || tt.tried != "" && !slices.Contains(tried, tt.tried) {
				t.Errorf("sbatch was asked %q", tried)
			}
			if len(tried) > 0 && (!slices.Contains(tried, "--test-only") || !slices.Contains(tried, "--array=3") || !strings.HasSuffix(tried[len(tried)-1], "/batches/k/script.sh")) {
				t.Errorf("sbatch was asked %q, which would submit, or of another job", tried)
			}
		})
	}
}
