// Package programs is what runs on nodes: muster itself, put where they see it.
//
// Nodes may have another processor than the login node: Grace nodes below an
// x86 one, and the reverse. Their jobs need another program than this one.
package programs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

const archNote = "nodes of another processor than the login node's: "

// Note says on a pool which of its nodes differ from the login node.
func Note(p *offer.Pool, archs []string) {
	for _, arch := range archs {
		if arch != runtime.GOARCH {
			p.Notes = append(slices.Clone(p.Notes), archNote+cluster.Machines[arch])
		}
	}
}

// Foreign are the processors of a cluster's nodes, as Go names them, that
// the program on its login node does not run on.
func Foreign(pools []offer.Pool) []string {
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

// Path is where a program for a processor lies, below the workdir.
func Path(arch string, program []byte) string {
	sum := sha256.Sum256(program)
	return filepath.Join(".muster", "bin", Name(arch, hex.EncodeToString(sum[:6])))
}

// Name is the name of a program for a processor with a digest.
func Name(arch, digest string) string { return "muster-host-linux-" + arch + "-" + digest }

// Put lays a program down at once, where it is not there yet.
func Put(path string, program []byte) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() == int64(len(program)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("install muster for the nodes: %w", err)
	}
	return installFrom(path, bytes.NewReader(program))
}

// Install puts a program into a folder, under the name of its digest; "" is the
// program that this is.
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
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return path, installFrom(path, in)
}

// installFrom writes a program so that nobody sees half of it.
func installFrom(path string, in io.Reader) error {
	out, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o755), out.Close()); err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}

// Remove removes what muster put into a workdir for nodes to run, if no
// other campaign has anything there. What is in an install_dir stays: who else
// uses that is not known here.
func Remove(workdir string) (removed []string, err error) {
	top := filepath.Join(workdir, ".muster")
	if err := os.Remove(filepath.Join(top, "slurm")); err != nil {
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
	_ = os.Remove(bin) // both, if nothing else lies there
	_ = os.Remove(top)
	return removed, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
