package node

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// notOfNodes are refusals of --test-only for what has nothing to do with nodes: as
// many jobs are submitted as may be, or compute nodes may not submit to the
// partition. sacctmgr(1), MaxSubmitJobs; slurm.conf(5), AllocNodes; seen on 22.05.
var notOfNodes = []string{"accounting/qos policy", "permission denied"}

// ofNodes reports whether sbatch may have refused a job for want of a node.
func ofNodes(said []byte) bool {
	text := strings.ToLower(string(said))
	return !slices.ContainsFunc(notOfNodes, func(words string) bool { return strings.Contains(text, words) })
}

// A twin is what nodes are compared by.
type twin struct {
	cores, memory int
	gres          string
	features      []string
	up            bool
}

// alike reports whether a partition has, without some nodes, as many as the job
// needs that are up and have all that the one has on which it ran: where sbatch
// cannot be asked which would do, these would.
func (s *start) alike(ctx context.Context, partition, without string, ask asker) (bool, error) {
	if partition == "" {
		return false, errors.New("the partition is not told")
	}
	text, err := ask(ctx, "scontrol", "show", "hostnames", without)
	if err != nil {
		return false, err
	}
	off := strings.Fields(text)
	if text, err = ask(ctx, "sinfo", "-h", "-N", "-p", partition, "-o", "%N|%t|%c|%m|%G|%f"); err != nil {
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
	own, ok := nodes[s.begin.Node]
	if !ok {
		return false, nil
	}
	n := 0
	for name, t := range nodes {
		lacks := func(feature string) bool { return !slices.Contains(t.features, feature) }
		if t.up && !slices.Contains(off, name) && t.cores >= own.cores && t.memory >= own.memory && t.gres == own.gres && !slices.ContainsFunc(own.features, lacks) {
			n++
		}
	}
	return n >= max(s.job.Shape.Nodes, 1), nil
}

// up reports whether a node in a state of sinfo's takes jobs, if not now then by
// itself. sinfo(1), NODE STATE CODES.
func up(state string) bool {
	return slices.Contains([]string{"idle", "mix", "alloc", "comp", "plnd"}, strings.TrimRight(state, "~#-"))
}
