package node

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers/failure"
)

// ofTheNode are the classes whose cause may lie in the node, or in a device of
// it: what failed so starts on another one next, where there is one.
var ofTheNode = []string{failure.GPULost, failure.OOMGPU, failure.NCCLHang, failure.NodeFailure}

// An asker runs one of Slurm's commands and returns what it printed.
type asker func(ctx context.Context, name string, args ...string) (string, error)

func ask(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SBATCH_") })
	out, err := cmd.Output()
	return string(out), err
}

// without are the nodes that the next start of a job keeps off, "" for none: the
// one of this start, after a failure that may be the node's own, and those that
// it keeps off already. It keeps off none where no other node would do: Slurm
// holds such a job for good. scontrol(1), ExcNodeList; seen on 22.05.
func (s *start) without(ctx context.Context, class string, ask asker) string {
	if s.begin.Node == "" || !slices.Contains(ofTheNode, class) {
		return ""
	}
	now, err := ask(ctx, "scontrol", "-o", "show", "job", s.begin.ID)
	if err != nil {
		return ""
	}
	list := s.begin.Node
	for f := range strings.FieldsSeq(now) {
		if before, ok := strings.CutPrefix(f, "ExcNodeList="); ok && before != "" && before != "(null)" {
			list = before + "," + list
		}
	}
	args := []string{"--test-only", "--exclude=" + list, "--dependency="}
	if _, index, ok := strings.Cut(s.begin.ID, "_"); ok {
		args = append(args, "--array="+index)
	}
	if _, err := ask(ctx, "sbatch", append(args, filepath.Join(string(s.batch), "script.sh"))...); err != nil {
		return ""
	}
	return list
}
