package systemtest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

const slurmFar = `campaign "far" {}
backend "slurm" "lab" {
  workdir = "~/WORK"
  ssh { host = "h1" }
}
phase "teachers" {
  grid { axes = { i = range(0, 4) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "hostname > ${output.r}"
    output "r" { path = "t${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "students" {
  grid { axes = { i = range(0, 4) } }
  place { candidates = [backend.slurm.lab] }
  job {
    command = "cp ${input.t} ${output.r}"
    input "t" { from = phase.teachers.output.r }
    output "r" { path = "s${cell.i}" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmOverSSH: the login node is reached through a real sshd, as an ordinary
// user whose login shell says where Slurm is.
func slurmOverSSH(t *testing.T) {
	c := overSSH(t, slurmFar)
	out, err := c.command("apply", "-auto-approve").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "8 of 8 jobs done and verified") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = c.command("backends", "-cleanup").CombinedOutput()
	left, _ := exec.Command("find", c.far+"/.muster", "/home/alice/.cache/muster", "/home/alice/.local/state/muster").Output()
	if err != nil || len(left) > 0 || !strings.Contains(string(out), "/.cache/muster/bin/muster-host-") {
		t.Errorf("cleanup: %v\n%s\nis left:\n%s", err, out, left)
	}
	if results, _ := filepath.Glob(c.far + "/[ts][0-3]"); len(results) != 8 {
		t.Errorf("of the results %v are left", results)
	}
}

// A farCluster is a world whose cluster is behind a login node.
type farCluster struct {
	*cluster
	home string // of the person here
	far  string // the workdir there
	line *relay
}

func (c *farCluster) command(args ...string) *exec.Cmd {
	cmd := c.cluster.command(args...)
	cmd.Env = append(cmd.Env, "HOME="+c.home, "SLURM_CONF=/nowhere")
	return cmd
}

// overSSH makes a world whose cluster is reached as alice on h1. In the
// campaign WORK is the workdir under her home, FAR the path of it.
func overSSH(t *testing.T, campaign string) *farCluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-sshd-") // sshd wants no folder above that others may write to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	line := loginNode(t, dir)
	const profile = "/home/alice/.profile"
	before, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	work := "muster-test-" + filepath.Base(dir)
	far := filepath.Join("/home/alice", work)
	text := "\nexport SLURM_CONF=" + os.Getenv("SLURM_CONF") + " PATH=" + far + "/tools:$PATH\n"
	if err := os.WriteFile(profile, append(before, text...), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.WriteFile(profile, before, 0o644)
		os.RemoveAll(far)
	})
	c := &farCluster{cluster: onSlurm(t, strings.NewReplacer("WORK", work, "FAR", far).Replace(campaign)), far: far, line: line, home: filepath.Join(dir, "home")}
	c.workdir = far
	// A muster that was not built by make has its program for hosts beside it.
	beside := filepath.Join(filepath.Dir(os.Getenv("MUSTER_BINARY")), "muster-host-linux-amd64")
	if _, err := os.Stat(beside); err == nil {
		program.Copy(t, beside, filepath.Join(filepath.Dir(c.bin), filepath.Base(beside)))
	}
	if err := os.MkdirAll(filepath.Join(c.home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "config"), filepath.Join(c.home, ".ssh", "config")); err != nil {
		t.Fatal(err)
	}
	return c
}

// A relay is the line to the login node, which can be cut.
type relay struct {
	to   string
	mu   sync.Mutex
	down bool
	open []net.Conn
}

func (r *relay) serve(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.to)
		r.mu.Lock()
		if r.down || err != nil {
			near.Close()
			if err == nil {
				far.Close()
			}
			r.mu.Unlock()
			continue
		}
		r.open = append(r.open, near, far)
		r.mu.Unlock()
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				io.Copy(way[0], way[1])
				way[0].Close()
				way[1].Close()
			}()
		}
	}
}

// cut ends open connections and lets nothing in until it is repaired.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		c.Close()
	}
	r.down, r.open = true, nil
}

func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = false
}

// loginNode starts an ssh server for alice on this machine, and writes how it
// is reached into config.
func loginNode(t *testing.T, dir string) *relay {
	t.Helper()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.NewReplacer("DIR", dir, "PORT", port).Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pub, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("sshd_config", "Port PORT\nListenAddress 127.0.0.1\nHostKey DIR/host\nAuthorizedKeysFile DIR/user.pub\nPidFile DIR/pid\nUsePAM no\nStrictModes no\n")
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	line := &relay{to: "127.0.0.1:" + port}
	go line.serve(front)
	t.Cleanup(line.cut)
	_, port, _ = net.SplitHostPort(front.Addr().String())
	write("known_hosts", "[127.0.0.1]:PORT "+string(pub))
	write("config", "Host h1\n  HostName 127.0.0.1\n  Port PORT\n  User alice\n  IdentityFile DIR/user\n  IdentitiesOnly yes\n  UserKnownHostsFile DIR/known_hosts\n")
	os.MkdirAll("/run/sshd", 0o755) // sshd(8), privilege separation
	exec.Command("usermod", "-p", "*", "alice").Run()
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-f", filepath.Join(dir, "sshd_config"))
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sshd.Process.Kill()
		sshd.Wait()
	})
	return line
}
