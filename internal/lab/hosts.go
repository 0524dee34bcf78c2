// Package lab starts real components for system tests: ssh hosts in namespaces
// of this machine that can crash, freeze and lose their links. It removes them
// when the test ends, even if the test process is killed.
package lab

import (
	"embed"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

//go:embed hosts-up host-ctl hosts-down hosts-keep
var hostScripts embed.FS

// A Host is one ssh host: users alice and root with the lab's key, another
// user bob, OpenSSH's sshd on port 22.
type Host struct {
	Name, Addr string
	Config     string // ssh_config that reaches every host of the lab by name
	Key        string // private key that lets in alice and root
	KnownHosts string

	t   testing.TB
	dir string
	env []string
}

// Hosts brings up n hosts, h1, h2, …. Settings are LAB_MAXSESSIONS=N,
// LAB_MAXSTARTUPS=A:B:C, and LAB_CODE=CODE for hosts that let alice in with the
// password "secret" and then this code, and with no key. Without MUSTER_SYSTEM_TESTS=1 the test is skipped;
// with it, a machine that cannot carry hosts fails it.
func Hosts(t testing.TB, n int, settings ...string) []*Host {
	t.Helper()
	want(t, "sshd", "ssh", "ssh-keygen", "ip", "iptables", "unshare", "nsenter")
	dir, err := os.MkdirTemp("/tmp", "muster-lab-")
	if err != nil {
		t.Fatal(err)
	}
	id, net := claim(t)
	env := append(os.Environ(), "LAB_DIR="+dir, "LAB_ID="+id, "LAB_NET="+net)
	env = append(env, settings...)
	unpack(t, dir)
	keep(t, dir, env)
	if out, err := script(dir, env, "hosts-up", fmt.Sprint(n)).CombinedOutput(); err != nil {
		t.Fatalf("hosts-up: %v\n%s", err, out)
	}
	return hosts(t, dir, env)
}

func want(t testing.TB, tools ...string) {
	t.Helper()
	needs.System(t, "runs real ssh servers in network namespaces, as root")
	if os.Getuid() != 0 {
		t.Fatal("namespaces want root")
	}
	for _, tool := range tools {
		needs.Program(t, tool)
	}
}

func hash(s string) uint32 {
	h := fnv.New32a()
	io.WriteString(h, s)
	return h.Sum32()
}

// claims has a folder for each name of links that is in use; hosts-down removes it.
const claims = "/run/muster-lab"

// claim takes a name for links and namespaces that no other hosts have, and three octets that
// go with it and that no link here has.
func claim(t testing.TB) (id, prefix string) {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(claims, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		n := rand.IntN(100 * 250)
		id, prefix = fmt.Sprintf("%04x", n), fmt.Sprintf("10.%d.%d", 128+n/250, n%250)
		taken := slices.ContainsFunc(addrs, func(a net.Addr) bool { return strings.HasPrefix(a.String(), prefix+".") })
		if !taken && os.Mkdir(filepath.Join(claims, id), 0o755) == nil {
			return id, prefix
		}
	}
	t.Fatal("no network is free")
	return "", ""
}

func unpack(t testing.TB, dir string) {
	t.Helper()
	files, err := hostScripts.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := hostScripts.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		program.Write(t, filepath.Join(dir, f.Name()), text)
	}
}

func script(dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = env
	return cmd
}

// keep starts the script that removes the hosts when its standard input ends: at the end of
// the test, or of this process.
func keep(t testing.TB, dir string, env []string) {
	t.Helper()
	cmd := script(dir, env, "hosts-keep")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, dir)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("take the hosts away: %v", err)
		}
	})
}

func logs(t testing.TB, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		t.Logf("%s ends with\n%s", filepath.Base(f), text[max(0, len(text)-2000):])
	}
}

func hosts(t testing.TB, dir string, env []string) []*Host {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "etc", "hosts.list"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*Host
	for line := range strings.Lines(string(list)) {
		name, addr, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, &Host{Name: name, Addr: addr, t: t, dir: dir, env: env,
			Config: filepath.Join(dir, "etc", "ssh_config"), Key: filepath.Join(dir, "etc", "id_ed25519"), KnownHosts: filepath.Join(dir, "etc", "known_hosts")})
	}
	return all
}
