package login

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Nodes may have another processor than the login node: Grace nodes below an
// x86 one, and the reverse. Their jobs need another program than this one.

const archNote = "nodes of another processor than the login node's: "

// noteArchs says on a pool which of its nodes differ from the login node.
func noteArchs(p *offer.Pool, archs []string) {
	for _, arch := range archs {
		if arch != runtime.GOARCH {
			p.Notes = append(slices.Clone(p.Notes), archNote+cluster.Machines[arch])
		}
	}
}

// ForeignArchs are the processors of a cluster's nodes, as Go names them, that
// the program on its login node does not run on.
func ForeignArchs(pools []offer.Pool) []string {
	found := map[string]bool{}
	for _, p := range pools {
		for _, n := range p.Notes {
			for arch, name := range cluster.Machines {
				if n == archNote+name {
					found[arch] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ProgramPath is where a program for a processor lies, below the workdir.
func ProgramPath(arch string, program []byte) string {
	sum := sha256.Sum256(program)
	return filepath.Join(".muster", "bin", programName(arch, hex.EncodeToString(sum[:6])))
}

func programName(arch, digest string) string { return "muster-host-linux-" + arch + "-" + digest }

// otherAgents are the commands that run one element on the nodes of a partition
// that have another processor, by that as uname names it.
func (s *Slurm) otherAgents(b *backend, pool string) (map[string][]string, error) {
	b.facts.mu.Lock()
	var archs []string
	if f := b.facts.site; f != nil {
		if l := f.Partition(pool); l != nil {
			archs = l.Archs
		}
	}
	b.facts.mu.Unlock()
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
		path := filepath.Join(b.Workdir, ProgramPath(arch, program))
		if err := put(path, program); err != nil {
			return "", err
		}
		s.agents[known] = path
		return path, nil
	}
	found, _ := filepath.Glob(filepath.Join(b.Workdir, ".muster", "bin", programName(arch, "*")))
	newest := ""
	var at int64
	for _, f := range found {
		if fi, err := os.Stat(f); err == nil && fi.ModTime().UnixNano() >= at {
			newest, at = f, fi.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return "", &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("There is no program for nodes with an %s processor here", cluster.Machines[arch]),
			Detail: programName(arch, "DIGEST") + " is not in " + filepath.Join(b.Workdir, ".muster", "bin"), Hint: "name a partition whose nodes are like the login node, or build muster with `make build`"}
	}
	return newest, os.Chmod(newest, 0o755) // pushed files are not programs
}

// put lays a program down at once, where it is not there yet.
func put(path string, program []byte) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() == int64(len(program)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("install muster for the nodes: %w", err)
	}
	return installFrom(path, bytes.NewReader(program))
}
