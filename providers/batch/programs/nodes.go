package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/muster-run/muster/providers"
)

// Nodes puts programs where compute nodes run them, each once.
type Nodes struct {
	// Carried returns the program for nodes of another processor, by Go's name of
	// it. nil: whoever started this agent puts it into the workdir.
	Carried func(arch string) ([]byte, error)
	Pool    string // the scheduler's word for a pool
	mu      sync.Mutex
	known   map[string]string // by path
}

// Own puts this program, or the given one, into a folder that nodes see.
func (n *Nodes) Own(dir, program string) (string, error) {
	return n.once(dir, func() (string, error) {
		path, err := Install(dir, program)
		if err != nil {
			return "", fmt.Errorf("install muster for the nodes: %w", err)
		}
		return path, nil
	})
}

// Foreign is the path of the program for another processor, which this muster
// carries, or the muster that started this agent has copied.
func (n *Nodes) Foreign(workdir, arch string) (string, error) {
	if n.Carried == nil {
		return newest(workdir, arch, n.Pool)
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

// once puts a program in place, and remembers its path.
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

// newest is the latest program for a processor in a workdir.
func newest(workdir, arch, word string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(workdir, ".muster", "bin", Name(arch, "*")))
	newest := ""
	var at int64
	for _, f := range found {
		if fi, err := os.Stat(f); err == nil && fi.ModTime().UnixNano() >= at {
			newest, at = f, fi.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return "", &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("There is no program for nodes with an %s processor here", Machines[arch]),
			Detail: Name(arch, "DIGEST") + " is not in " + filepath.Join(workdir, ".muster", "bin"), Hint: "name a " + word + " whose nodes are like the login node, or build muster with `make build`"}
	}
	return newest, os.Chmod(newest, 0o755) // pushed files are not programs
}
