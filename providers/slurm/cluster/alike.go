package cluster

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// notOfNodes are refusals of --test-only that have nothing to do with nodes: the limit of
// submitted jobs is reached, or compute nodes may not submit to the partition. sacctmgr(1),
// MaxSubmitJobs; slurm.conf(5), AllocNodes; seen on 22.05.
var notOfNodes = []string{"accounting/qos policy", "permission denied"}

// ofNodes reports whether sbatch may have refused a job for want of a node.
func ofNodes(said []byte) bool {
	text := strings.ToLower(string(said))
	return !slices.ContainsFunc(notOfNodes, func(words string) bool { return strings.Contains(text, words) })
}

// A twin has the properties by which nodes are compared.
type twin struct {
	cores, memory int
	gres          string
	features      []string
	up            bool
}

// alike reports whether a partition has, beside some nodes, enough nodes that are
// up and have everything that the job's node has, for a cluster whose sbatch
// cannot say which nodes would do.
func (n Node) alike(ctx context.Context, partition, without string, l scheduler.Retry) (bool, error) {
	if partition == "" {
		return false, errors.New("the partition is not told")
	}
	text, err := n.asked(ctx, "scontrol", "show", "hostnames", without)
	if err != nil {
		return false, err
	}
	off := strings.Fields(text)
	if text, err = n.asked(ctx, "sinfo", "-h", "-N", "-p", partition, "-o", "%N|%t|%c|%m|%G|%f"); err != nil {
		return false, err
	}
	nodes := map[string]twin{}
	for line := range strings.Lines(text) {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 6 {
			cores, _ := strconv.Atoi(f[2])
			memory, _ := strconv.Atoi(f[3])
			nodes[f[0]] = twin{cores: cores, memory: memory, gres: f[4], features: strings.Split(f[5], ","), up: up(f[1])}
		}
	}
	own, ok := nodes[l.Node]
	if !ok {
		return false, nil
	}
	found := 0
	for name, t := range nodes {
		lacks := func(feature string) bool { return !slices.Contains(t.features, feature) }
		if t.up && !slices.Contains(off, name) && t.cores >= own.cores && t.memory >= own.memory && t.gres == own.gres && !slices.ContainsFunc(own.features, lacks) {
			found++
		}
	}
	return found >= max(l.Needs, 1), nil
}

// up reports whether a node in a state of sinfo's takes jobs, now or without help.
// sinfo(1), NODE STATE CODES.
func up(state string) bool {
	return slices.Contains([]string{"idle", "mix", "alloc", "comp", "plnd"}, strings.TrimRight(state, "~#-"))
}
