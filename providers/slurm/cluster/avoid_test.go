package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// TestAvoid: a job keeps off its nodes, and off those that it kept off before,
// unless no other would do, for what it asks for next.
func TestAvoid(t *testing.T) {
	t.Parallel()
	refused := exec.Command("false").Run()
	const gib = 1 << 30
	for name, tt := range map[string]struct {
		nodes       string
		more        scheduler.More
		job         string // what scontrol prints
		noJob, none error  // of scontrol, of sbatch
		want        string
		tried       []string
	}{
		"a GPU lost":       {nodes: "gpu1", job: "JobId=7 ExcNodeList=(null) x=y", want: "gpu1", tried: []string{"--exclude=gpu1"}},
		"and one before":   {nodes: "gpu2", job: "JobId=7 ExcNodeList=gpu1 x=y", want: "gpu1,gpu2", tried: []string{"--exclude=gpu1,gpu2"}},
		"which of them":    {nodes: "gpu[1-2]", job: "ExcNodeList=(null)", want: "gpu[1-2]", tried: []string{"--exclude=gpu[1-2]"}},
		"with more memory": {nodes: "gpu1", more: scheduler.More{Memory: 6 * gib}, want: "gpu1", tried: []string{"--exclude=gpu1", "--mem=6144M"}},
		"with more time":   {nodes: "gpu1", more: scheduler.More{Walltime: 90 * time.Minute}, want: "gpu1", tried: []string{"--exclude=gpu1", "--time=90"}},
		"the only node":    {nodes: "gpu1", job: "JobId=7 ExcNodeList=(null)", none: refused, tried: []string{"--exclude=gpu1"}},
		"no answer":        {nodes: "gpu1", job: "JobId=7 ExcNodeList=(null)", none: context.DeadlineExceeded, tried: []string{"--exclude=gpu1"}},
		"not asked":        {nodes: "gpu1", noJob: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch := filepath.Join(t.TempDir(), "batches", "k")
			if err := os.MkdirAll(batch, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, again := range []bool{false, true} { // like jobs of the batch
				var tried []string
				l := scheduler.Retry{ElementID: scheduler.ElementID{Array: "7", Index: 3}, Node: "gpu1", Nodes: tt.nodes, Needs: 1, Script: filepath.Join(batch, "script.sh"), More: tt.more}
				got := Node{ask: func(_ context.Context, name string, args ...string) (string, error) {
					if name == "scontrol" {
						if !slices.Contains(args, "7_3") {
							t.Errorf("scontrol is asked %q", args)
						}
						return tt.job, tt.noJob
					}
					tried = append(tried, args...)
					return "", tt.none
				}}.Avoid(t.Context(), l)
				if got != tt.want {
					t.Errorf("it keeps off %q, want %q", got, tt.want)
				}
				if again && !errors.Is(tt.none, context.DeadlineExceeded) {
					if len(tried) > 0 {
						t.Errorf("another asks again: %q", tried)
					}
					continue
				}
				if (len(tried) > 0) != (len(tt.tried) > 0) {
					t.Errorf("sbatch was asked %q", tried)
				}
				for _, option := range tt.tried {
					if !slices.Contains(tried, option) {
						t.Errorf("sbatch was asked %q, without %s", tried, option)
					}
				}
				if len(tried) > 0 && (!slices.Contains(tried, "--test-only") || !slices.Contains(tried, "--array=3") || !strings.HasSuffix(tried[len(tried)-1], "/batches/k/script.sh")) {
					t.Errorf("sbatch was asked %q, which would submit, or of another job", tried)
				}
			}
		})
	}
}
