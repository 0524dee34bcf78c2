// Package programs places the muster program where compute nodes can run it.
//
// Nodes may have another processor than the login node, such as Grace nodes
// below an x86 login node. Their jobs need a program built for that processor.
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Machines are uname's names of processors, by Go's.
var Machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

const archNote = "nodes of another processor than the login node's: "

// Note adds a pool's processors that differ from the login node's to its notes.
func Note(p *offer.Pool, archs []string) {
	for _, arch := range archs {
		if arch != runtime.GOARCH {
			p.Notes = append(slices.Clone(p.Notes), archNote+Machines[arch])
		}
	}
}

// Foreign are the processors of a cluster's nodes, by Go's names, that its login
// node's program does not run on.
func Foreign(pools []offer.Pool) []string {
	found := map[string]bool{}
	for _, p := range pools {
		for _, n := range p.Notes {
			for arch, name := range Machines {
				if n == archNote+name {
					found[arch] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Path is the place of a program for a processor, below the workdir.
func Path(arch string, program []byte) string {
	sum := sha256.Sum256(program)
	return filepath.Join(".muster", "bin", Name(arch, hex.EncodeToString(sum[:6])))
}

// Name is the file name of a program for a processor.
func Name(arch, digest string) string { return "muster-host-linux-" + arch + "-" + digest }

// Put writes a program as a whole, unless it is there.
func Put(path string, program []byte) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() == int64(len(program)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("install muster for the nodes: %w", err)
	}
	return atomicfile.Write(path, program, 0o755)
}

// Install puts a program into a folder, under its digest; "" is this program.
func Install(dir, program string) (string, error) {
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return "", err
		}
	}
	in, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "muster-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return path, atomicfile.Fill(path, 0o755, func(w io.Writer) error {
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, in)
		return err
	})
}

// Remove removes the programs in a workdir if the folder of spools has no other
// campaign. Those in an install_dir stay, as others may use them.
func Remove(workdir, spools string) (removed []string, err error) {
	top := filepath.Join(workdir, ".muster")
	if err := os.Remove(filepath.Join(top, spools)); err != nil {
		return nil, nil // another's spool is in it, or there is none
	}
	bin := filepath.Join(top, "bin")
	programs, err := filepath.Glob(filepath.Join(bin, "muster-*"))
	if err != nil {
		return nil, err
	}
	for _, path := range programs {
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("clean: %w", err)
		}
		removed = append(removed, path)
	}
	_ = os.Remove(bin) // both, if nothing else is there
	providers.RemoveEmpty(top)
	return removed, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
