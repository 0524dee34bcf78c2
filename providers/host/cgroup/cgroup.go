// Package cgroup gives each job a control group of its own, if the queue's
// group is delegated to the user. The kernel then counts the use of all
// processes of the job, and records which of them it killed for memory.
//
// Control Group v2, https://docs.kernel.org/admin-guide/cgroup-v2.html.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Tree is a group in which others may be made. The zero Tree makes none.
type Tree struct{ dir string }

// Usable reports whether the tree makes groups.
func (t Tree) Usable() bool { return t.dir != "" }

// At makes groups in a directory that is ready for it.
func At(dir string) Tree { return Tree{dir} }

// prefix begins the name of every job's group.
const prefix = "job-"

// Group is the group of a name; it need not be there.
func (t Tree) Group(name string) Group {
	if !t.Usable() {
		return ""
	}
	return Group(filepath.Join(t.dir, prefix+name))
}

// Clear removes the empty groups of jobs but for some.
func (t Tree) Clear(keep map[Group]bool) {
	if !t.Usable() {
		return
	}
	list, _ := filepath.Glob(filepath.Join(t.dir, prefix+"*"))
	for _, dir := range list {
		if g := Group(dir); !keep[g] {
			g.Remove()
		}
	}
}

// A Group is one job's, by its directory; "" is none.
type Group string

// Make makes the group, and opens it for clone(2), CLONE_INTO_CGROUP.
func (g Group) Make() (*os.File, error) {
	if err := os.Mkdir(string(g), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	f, err := os.Open(string(g))
	if err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	return f, nil
}

// Take moves a process into the group, for kernels that cannot start it there. Its earlier
// children stay outside.
func (g Group) Take(pid int) error {
	return os.WriteFile(g.file("cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// Remove removes the group, if nothing is left in it.
func (g Group) Remove() error {
	if g == "" {
		return nil
	}
	return unix.Rmdir(string(g))
}

// Usage is the use of a group's processes; -1 = unknown.
type Usage struct {
	CPU      time.Duration // user and system
	Peak     int64         // bytes, page cache included
	OOMKills int64         // processes killed for memory
}

// Usage reads the counters, which outlive the processes.
func (g Group) Usage() Usage {
	u := Usage{CPU: -1, Peak: -1, OOMKills: -1}
	if g == "" {
		return u
	}
	if n := g.count("cpu.stat", "usage_usec"); n >= 0 {
		u.CPU = time.Duration(n) * time.Microsecond
	}
	if text, err := os.ReadFile(g.file("memory.peak")); err == nil { // since Linux 5.19
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil {
			u.Peak = n
		}
	}
	u.OOMKills = g.count("memory.events", "oom_kill")
	return u
}

// count is a figure of a flat-keyed file, -1 if it is not there.
func (g Group) count(file, name string) int64 {
	text, err := os.ReadFile(g.file(file))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

func (g Group) file(name string) string { return filepath.Join(string(g), name) }
