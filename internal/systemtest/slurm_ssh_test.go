package systemtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	dir, err := os.MkdirTemp("", "muster-sshd-") // sshd wants no folder above that others may write to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	loginNode(t, dir)
	const profile = "/home/alice/.profile"
	before, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profile, append(before, "\nexport SLURM_CONF="+os.Getenv("SLURM_CONF")+"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	work := "muster-test-" + filepath.Base(filepath.Dir(dir))
	t.Cleanup(func() {
		os.WriteFile(profile, before, 0o644)
		os.RemoveAll("/home/alice/" + work)
	})
	c := onSlurm(t, strings.ReplaceAll(slurmFar, "WORK", work))
	// A muster that was not built by make has its program for hosts beside it.
	beside := filepath.Join(filepath.Dir(os.Getenv("MUSTER_BINARY")), "muster-host-linux-amd64")
	if _, err := os.Stat(beside); err == nil {
		copyFile(t, beside, filepath.Join(filepath.Dir(c.bin), filepath.Base(beside)))
	}
	home := filepath.Join(dir, "home", ".ssh")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(dir, "config"), filepath.Join(home, "config"))
	cmd := c.command("apply", "-auto-approve")
	cmd.Env = append(cmd.Env, "HOME="+filepath.Dir(home), "SLURM_CONF=/nowhere")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "8 of 8 jobs done and verified") {
		t.Errorf("%v\n%s", err, out)
	}
}

// loginNode starts an ssh server for alice on this machine, and writes how it
// is reached into config.
func loginNode(t *testing.T, dir string) {
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
}
