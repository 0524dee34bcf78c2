package batch

import (
	"path/filepath"
	"runtime"

	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/host/machine"
)

// agents are the commands that run one element on a backend's nodes.
type agents struct {
	nodes   *programs.Nodes
	options Options
	b       *backend
}

func (s *Provider) agents(b *backend) agents { return agents{&s.nodes, s.options, b} }

// own runs this very program, copied once to where nodes see it, under its digest.
func (a agents) own() ([]string, error) {
	dir := a.b.site.Settings().InstallDir
	if dir == "" {
		dir = filepath.Join(a.b.Workdir, ".muster", "bin")
	} else {
		var err error
		if dir, err = machine.Expand(dir, a.b.Workdir); err != nil {
			return nil, err
		}
	}
	path, err := a.nodes.Own(dir, a.options.Program)
	if err != nil {
		return nil, err
	}
	return append([]string{path}, a.options.Agent...), nil
}

// foreign are the commands for nodes of a pool with another processor, by uname's
// name of it.
func (a agents) foreign(pool string) (map[string][]string, error) {
	var out map[string][]string
	for _, arch := range a.b.site.Processors(pool) {
		if arch == runtime.GOARCH {
			continue
		}
		path, err := a.nodes.Foreign(a.b.Workdir, arch)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[programs.Machines[arch]] = []string{path, "node"} // muster-host's own word
	}
	return out, nil
}
