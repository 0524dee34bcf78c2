package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Nodes knows where the programs lie that nodes run; each is put there once.
type Nodes struct {
	// Carried gives the program for nodes of another processor, as Go names it;
	// nil: it is put into the workdir by whom this speaks for.
	Carried func(arch string) ([]byte, error)
	mu      sync.Mutex
	known   map[string]string // by what it is: its path
}

// Own is this very program, or the one that is named, in a folder that nodes see.
func (n *Nodes) Own(dir, program string) (string, error) {
	return n.once(dir, func() (string, error) {
		path, err := Install(dir, program)
		if err != nil {
			return "", fmt.Errorf("install muster for the nodes: %w", err)
		}
		return path, nil
	})
}

// Foreign is the program for another processor: put there by this muster, which
// carries it, or by the one that this speaks for.
func (n *Nodes) Foreign(workdir, arch string) (string, error) {
	if n.Carried == nil {
		return newest(workdir, arch)
	}
	return n.once(workdir+"\x00"+arch, func() (string, error) {
		program, err := n.Carried(arch)
		if err != nil {
			return "", err
		}
		path := filepath.Join(workdir, Path(arch, program))
		return path, Put(path, program)
	})
}

// once is the path of a program that is there, or is put there.
func (n *Nodes) once(what string, put func() (string, error)) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if path := n.known[what]; path != "" && exists(path) {
		return path, nil
	}
	path, err := put()
	if err != nil {
		return "", err
	}
	if n.known == nil {
		n.known = map[string]string{}
	}
	n.known[what] = path
	return path, nil
}

// newest is the latest program for a processor that lies in a workdir.
func newest(workdir, arch string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(workdir, ".muster", "bin", Name(arch, "*")))
	newest := ""
	var at int64
	for _, f := range found {
		if fi, err := os.Stat(f); err == nil && fi.ModTime().UnixNano() >= at {
			newest, at = f, fi.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return "", &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("There is no program for nodes with an %s processor here", cluster.Machines[arch]),
			Detail: Name(arch, "DIGEST") + " is not in " + filepath.Join(workdir, ".muster", "bin"), Hint: "name a partition whose nodes are like the login node, or build muster with `make build`"}
	}
	return newest, os.Chmod(newest, 0o755) // pushed files are not programs
}
