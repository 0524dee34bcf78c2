package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Own readies the group of this process for jobs' groups. It fails where the
// group is not this user's to change, or counts no memory: nothing is gained
// then. This process moves into a group of its own below it, as a group with
// controllers holds no processes.
func Own() (Tree, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Tree{}, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Tree{}, err
	}
	dir, err := find(string(mounts), string(own))
	if err != nil {
		return Tree{}, err
	}
	if !delegated(dir) {
		return Tree{}, fmt.Errorf("%s has not been delegated", dir)
	}
	return ready(dir, os.Getpid())
}

// find is the directory of a process's group. proc_pid_mountinfo(5); cgroups(7).
func find(mounts, own string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = rest
		}
	}
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		i := slices.Index(f, "-")
		if i < 0 || len(f) < i+2 || len(f) < 5 || f[i+1] != "cgroup2" || path == "" {
			continue
		}
		rel, err := filepath.Rel(f[3], path)
		if err != nil || !filepath.IsLocal(rel) && rel != "." {
			continue // another part of the tree is mounted here
		}
		return filepath.Join(f[4], rel), nil
	}
	return "", errors.New("no cgroup v2 is mounted")
}

// delegated reports whether this user may change a group. Root may change any, but without
// delegation a group belongs to systemd. systemd.resource-control(5), Delegate=;
// https://systemd.io/CGROUP_DELEGATION.
func delegated(dir string) bool {
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, file), unix.W_OK) != nil {
			return false
		}
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Getuid() != 0 {
		return true
	}
	mark := make([]byte, 1)
	n, err := unix.Getxattr(dir, "trusted.delegate", mark)
	return err == nil && n == 1 && mark[0] == '1'
}

// ready turns the counting of memory on for groups in dir.
func ready(dir string, pid int) (Tree, error) {
	if !has(dir, "cgroup.controllers", "memory") {
		return Tree{}, fmt.Errorf("%s does not count memory", dir)
	}
	t := Tree{dir}
	if has(dir, "cgroup.subtree_control", "memory") {
		return t, nil
	}
	leaf := Group(filepath.Join(dir, "queue"))
	f, err := leaf.Make()
	if err != nil {
		return Tree{}, err
	}
	f.Close()
	if err := leaf.Take(pid); err != nil {
		leaf.Remove()
		return Tree{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory"), 0o644); err != nil {
		// Others are in it: move the processes back.
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644), leaf.Remove())
		return Tree{}, fmt.Errorf("count the memory of jobs: %w", err)
	}
	return t, nil
}

func has(dir, file, word string) bool {
	text, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && slices.Contains(strings.Fields(string(text)), word)
}
