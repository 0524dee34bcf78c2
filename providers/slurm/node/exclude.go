package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/failure"
)

// ofTheNode are the classes whose cause may lie in the node, or in a device of
// it: what failed so starts on another one next, where there is one.
var ofTheNode = []string{failure.GPULost, failure.OOMGPU, failure.NCCLHang, failure.NodeFailure}

// An asker runs one of Slurm's commands and returns what it printed, times as
// seconds since 1970.
type asker func(ctx context.Context, name string, args ...string) (string, error)

func ask(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SBATCH_") }), "SLURM_TIME_FORMAT=%s")
	out, err := cmd.Output()
	return string(out), err
}

// withoutTimeout bounds what is asked before a requeue: that comes first, and
// the job holds its node until then.
const withoutTimeout = 20 * time.Second

// without are the nodes that the next start of a job keeps off, "" for none:
// those of this start, after a failure that may be of any of them, and those that
// it keeps off already. It keeps off none where no other node would do: Slurm
// holds such a job for good. scontrol(1), ExcNodeList; seen on 22.05.
func (s *start) without(ctx context.Context, e End, ask asker) string {
	list := cmp.Or(s.place.nodes, s.begin.Node)
	if list == "" || !slices.Contains(ofTheNode, e.Seen.Class) {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, withoutTimeout)
	defer stop()
	now, err := ask(ctx, "scontrol", "-o", "show", "job", s.begin.ID)
	if err != nil {
		return ""
	}
	partition := ""
	for f := range strings.FieldsSeq(now) {
		if before, ok := strings.CutPrefix(f, "ExcNodeList="); ok && before != "" && before != "(null)" {
			list = before + "," + list
		}
		if name, ok := strings.CutPrefix(f, "Partition="); ok {
			partition = name
		}
	}
	if !s.others(ctx, partition, list, s.terms(e.Growth), ask) {
		return ""
	}
	return list
}

// othersFor is for how long an answer of others is good for its batch.
const othersFor = 10 * time.Minute

// others asks Slurm whether it would take the job without some nodes, and what it
// asks for more. The answer is kept for the like jobs: the controller goes through
// all of its nodes for it, and where a node fails all that is on it asks the same.
func (s *start) others(ctx context.Context, partition, without string, terms []string, ask asker) bool {
	options := append([]string{"--exclude=" + without}, terms...)
	sum := sha256.Sum256([]byte(strings.Join(options, " ")))
	path := filepath.Join(string(s.batch), "others-"+hex.EncodeToString(sum[:8]))
	if fi, err := os.Stat(path); err == nil && time.Since(fi.ModTime()).Abs() < othersFor {
		text, _ := os.ReadFile(path)
		return string(text) == "yes\n"
	}
	args := append([]string{"--test-only", "--dependency="}, options...)
	if _, index, ok := strings.Cut(s.begin.ID, "_"); ok {
		args = append(args, "--array="+index)
	}
	_, err := ask(ctx, "sbatch", append(args, filepath.Join(string(s.batch), "script.sh"))...)
	var refused *exec.ExitError
	if errors.As(err, &refused) && refused.Exited() && !ofNodes(refused.Stderr) {
		there, err2 := s.alike(ctx, partition, without, ask)
		if err2 != nil {
			return false // not known, and not kept
		}
		if there {
			err = nil
		}
	}
	switch {
	case err == nil:
		writeWhole(path, []byte("yes\n")) // without it the next one asks
	case errors.As(err, &refused) && refused.Exited():
		writeWhole(path, []byte("no\n"))
	}
	return err == nil
}

// terms are, as options of sbatch, what the next start asks for more of than the
// script says: a node that would do for the one may not for the other.
func (s *start) terms(g *Growth) (out []string) {
	asked, next := s.job.Shape, s.shape()
	nodes := int64(max(asked.Nodes, 1))
	memory, walltime := next.Memory/nodes, next.Walltime
	if g != nil {
		memory, walltime = cmp.Or(g.Memory, memory), cmp.Or(g.Walltime, walltime)
	}
	if memory != asked.Memory/nodes {
		const mib = 1 << 20
		out = append(out, "--mem="+strconv.FormatInt((memory+mib-1)/mib, 10)+"M")
	}
	if walltime != asked.Walltime {
		out = append(out, "--time="+strconv.Itoa(int((walltime+time.Minute-1)/time.Minute)))
	}
	return out
}
