package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Avoid lists the nodes of a launch and those that the job avoids already. It
// lists none if no other node would do: Slurm holds such a job for good.
// scontrol(1), ExcNodeList; seen on 22.05.
func (n Node) Avoid(ctx context.Context, l scheduler.Retry) string {
	now, err := n.asked(ctx, "scontrol", "-o", "show", "job", n.ID(l.ElementID))
	if err != nil {
		return ""
	}
	list, partition := l.Nodes, ""
	for f := range strings.FieldsSeq(now) {
		if before, ok := strings.CutPrefix(f, "ExcNodeList="); ok && before != "" && before != "(null)" {
			list = before + "," + list
		}
		if name, ok := strings.CutPrefix(f, "Partition="); ok {
			partition = name
		}
	}
	if !n.others(ctx, partition, list, l) {
		return ""
	}
	return list
}

// othersFor is for how long an answer of others is good for its batch.
const othersFor = 10 * time.Minute

// others asks Slurm whether it would take the job without some nodes, with the
// resources of its next launch. Like jobs share the answer: it is expensive for
// the controller, and after a node failure all of its jobs ask.
func (n Node) others(ctx context.Context, partition, without string, l scheduler.Retry) bool {
	options := append([]string{"--exclude=" + without}, options(l.More)...)
	sum := sha256.Sum256([]byte(strings.Join(options, " ")))
	path := filepath.Join(filepath.Dir(l.Script), "others-"+hex.EncodeToString(sum[:8]))
	if fi, err := os.Stat(path); err == nil && time.Since(fi.ModTime()).Abs() < othersFor {
		text, _ := os.ReadFile(path)
		return string(text) == "yes\n"
	}
	args := append([]string{"--test-only", "--dependency="}, options...)
	if l.Index >= 0 {
		args = append(args, "--array="+strconv.Itoa(l.Index))
	}
	_, err := n.asked(ctx, "sbatch", append(args, l.Script)...)
	var refused *exec.ExitError
	if errors.As(err, &refused) && refused.Exited() && !ofNodes(refused.Stderr) {
		there, err2 := n.alike(ctx, partition, without, l)
		if err2 != nil {
			return false // not known, and not kept
		}
		if there {
			err = nil
		}
	}
	switch {
	case err == nil:
		_ = atomicfile.WriteCache(path, []byte("yes\n")) // without it the next one asks
	case errors.As(err, &refused) && refused.Exited():
		_ = atomicfile.WriteCache(path, []byte("no\n"))
	}
	return err == nil
}

// options are the larger request of a launch, as options of sbatch: a node that
// would do for the script's request may not do for this one.
func options(m scheduler.More) (out []string) {
	if m.Memory > 0 {
		out = append(out, "--mem="+strconv.FormatInt(mebibytes(m.Memory), 10)+"M")
	}
	if m.Walltime > 0 {
		out = append(out, "--time="+strconv.Itoa(minutes(m.Walltime)))
	}
	return out
}
