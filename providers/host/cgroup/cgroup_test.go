package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

// members are the processes in a group.
func members(g Group) (pids []int) {
	text, _ := os.ReadFile(g.file("cgroup.procs"))
	for f := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ name, mounts, own, want string }{
		{"a session", v2, "0::/user.slice/user-1000.slice/session-3.scope\n", "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"},
		{"a container", v2, "0::/\n", "/sys/fs/cgroup"},
		{"both versions", "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n",
			"4:memory:/a\n0::/b\n", "/sys/fs/cgroup/unified/b"},
		{"a part is mounted", "30 23 0:26 /a /mnt rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", "/mnt/b"},
		{"another part is mounted", "30 23 0:26 /c /mnt rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", ""},
		{"version 1 alone", "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/a\n", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := find(c.mounts, c.own)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cgroup.controllers"), "cpu io\n")
	if _, err := ready(dir, 1); err == nil {
		t.Error("a group that counts no memory is ready")
	}
	write(t, filepath.Join(dir, "cgroup.controllers"), "cpu io memory\n")
	tree, err := ready(dir, 4711)
	if err != nil || !tree.Usable() {
		t.Fatal(err)
	}
	if got := members(Group(filepath.Join(dir, "queue"))); !slices.Equal(got, []int{4711}) {
		t.Errorf("in the queue's own group: %v", got)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); string(got) != "+memory" {
		t.Errorf("controllers: %q", got)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tree := At(t.TempDir())
	g := tree.Group("tok.0")
	f, err := g.Make()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if u := g.Usage(); u != (Usage{-1, -1, -1}) {
		t.Errorf("nothing is known: %+v", u)
	}
	write(t, g.file("cpu.stat"), "usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n")
	write(t, g.file("memory.peak"), "734003200\n")
	write(t, g.file("memory.events"), "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n")
	if u, want := g.Usage(), (Usage{1500 * time.Millisecond, 700 << 20, 2}); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
	if u := (Group("")).Usage(); u != (Usage{-1, -1, -1}) {
		t.Errorf("no group: %+v", u)
	}
}

// TestSystemKernel uses a real cgroup v2 as far as this machine gives one: a process
// is started in a group, counted there, and seen among its members.
func TestSystemKernel(t *testing.T) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	own, _ := os.ReadFile("/proc/self/cgroup")
	dir, err := find(string(mounts), string(own))
	if err == nil {
		dir, err = os.MkdirTemp(dir, "muster-test-")
	}
	if err != nil {
		needs.Absent(t, err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	g := At(dir).Group("tok.0")
	f, err := g.Make()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; read x")
	in, _ := cmd.StdinPipe()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := members(g); !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("members are %v, want %d", got, cmd.Process.Pid)
	}
	if err := g.Remove(); err == nil {
		t.Error("a group with a process in it was removed")
	}
	in.Close()
	cmd.Wait()
	if u := g.Usage(); u.CPU <= 0 || u.CPU > time.Minute {
		t.Errorf("usage: %+v", u)
	}
	At(dir).Clear(map[Group]bool{g: true})
	if _, err := os.Stat(string(g)); err != nil {
		t.Errorf("a group that was to be kept: %v", err)
	}
	At(dir).Clear(nil)
	if _, err := os.Stat(string(g)); err == nil {
		t.Error("the group is left")
	}
}
