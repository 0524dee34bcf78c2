package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// TestWithoutWhereSbatchIsClosed: what --test-only refuses for what has nothing to
// do with nodes, as a user's last submission, says nothing of other nodes: then
// those that are as the one on which it failed would do, and no others.
func TestWithoutWhereSbatchIsClosed(t *testing.T) {
	t.Parallel()
	refusal := func(said string) error {
		err := exec.Command("false").Run().(*exec.ExitError)
		err.Stderr = []byte(said)
		return err
	}
	full := refusal("sbatch: error: QOSMaxSubmitJobPerUserLimit\nallocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n")
	const two = "gpu1|down*|64|262144|gpu:a100:3|a100,milan\ngpu2|mix|64|262144|gpu:a100:3|a100,milan,ib\n"
	for name, tt := range map[string]struct {
		said  error
		nodes string // what sinfo prints
		n     int    // that the job needs
		want  string
	}{
		"as many as may be":     {full, two, 1, "gpu1"},
		"no login node":         {refusal("allocation failure: Access/permission denied\n"), two, 1, "gpu1"},
		"no other would do":     {refusal("allocation failure: Requested node configuration is not available\n"), two, 1, ""},
		"one is not enough":     {full, two, 2, ""},
		"the other is drained":  {full, "gpu1|mix|64|262144|gpu:a100:3|a100\ngpu2|drng|64|262144|gpu:a100:3|a100\n", 1, ""},
		"of another type":       {full, "gpu1|mix|64|262144|gpu:a100:3|a100\ngpu2|idle|64|262144|gpu:v100:3|a100\n", 1, ""},
		"without a feature":     {full, "gpu1|mix|64|262144|gpu:a100:3|a100,ib\ngpu2|idle|64|262144|gpu:a100:3|a100\n", 1, ""},
		"with less memory":      {full, "gpu1|mix|64|262144|gpu:a100:3|a100\ngpu2|idle|64|65536|gpu:a100:3|a100\n", 1, ""},
		"kept off that already": {full, two + "gpu3|idle|64|262144|gpu:a100:3|a100,milan\n", 1, "gpu2,gpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch := filepath.Join(t.TempDir(), "batches", "k")
			if err := os.MkdirAll(batch, 0o700); err != nil {
				t.Fatal(err)
			}
			l := scheduler.Retry{ElementID: scheduler.ElementID{Array: "7", Index: 3}, Node: "gpu1", Nodes: "gpu1", Needs: tt.n, Script: filepath.Join(batch, "script.sh")}
			got := Node{ask: func(_ context.Context, command string, args ...string) (string, error) {
				switch {
				case command == "sbatch":
					return "", tt.said
				case command == "sinfo" && slices.Contains(args, "agpu"):
					return tt.nodes, nil
				case command == "scontrol" && slices.Contains(args, "hostnames"):
					return map[string]string{"gpu1": "gpu1\n", "gpu2,gpu1": "gpu2\ngpu1\n"}[args[len(args)-1]], nil
				case command == "scontrol" && tt.want == "gpu2,gpu1":
					return "JobId=7 Partition=agpu ExcNodeList=gpu2 x=y", nil
				case command == "scontrol":
					return "JobId=7 Partition=agpu ExcNodeList=(null) x=y", nil
				}
				return "", errors.New("unexpected")
			}}.Avoid(t.Context(), l)
			if got != tt.want {
				t.Errorf("it keeps off %q, want %q", got, tt.want)
			}
		})
	}
}
