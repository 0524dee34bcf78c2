package login

import (
	"runtime"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// otherAgents are the commands that run one element on the nodes of a partition
// that have another processor, by that as uname names it.
func (s *Slurm) otherAgents(b *backend, pool string) (map[string][]string, error) {
	var archs []string
	if l := b.Last().Partition(pool); l != nil {
		archs = l.Archs
	}
	var out map[string][]string
	for _, arch := range archs {
		if arch == runtime.GOARCH {
			continue
		}
		path, err := s.nodes.Foreign(b.Workdir, arch)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[cluster.Machines[arch]] = []string{path, "node"} // muster-host's own word
	}
	return out, nil
}
