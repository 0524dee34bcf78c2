package login

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/programs"
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
		path, err := s.foreign(b, arch)
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

// foreign is the path of the program for another processor: put there by this
// muster, which carries it, or by the one that this speaks for.
func (s *Slurm) foreign(b *backend, arch string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := b.Workdir + "\x00" + arch
	if path := s.agents[known]; path != "" && exists(path) {
		return path, nil
	}
	if s.options.Programs != nil {
		program, err := s.options.Programs(arch)
		if err != nil {
			return "", err
		}
		path := filepath.Join(b.Workdir, programs.Path(arch, program))
		if err := programs.Put(path, program); err != nil {
			return "", err
		}
		s.agents[known] = path
		return path, nil
	}
	found, _ := filepath.Glob(filepath.Join(b.Workdir, ".muster", "bin", programs.Name(arch, "*")))
	newest := ""
	var at int64
	for _, f := range found {
		if fi, err := os.Stat(f); err == nil && fi.ModTime().UnixNano() >= at {
			newest, at = f, fi.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return "", &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("There is no program for nodes with an %s processor here", cluster.Machines[arch]),
			Detail: programs.Name(arch, "DIGEST") + " is not in " + filepath.Join(b.Workdir, ".muster", "bin"), Hint: "name a partition whose nodes are like the login node, or build muster with `make build`"}
	}
	return newest, os.Chmod(newest, 0o755) // pushed files are not programs
}
