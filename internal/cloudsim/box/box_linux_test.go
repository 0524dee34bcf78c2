package box_test

import (
	"crypto/ed25519"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	"github.com/muster-run/muster/internal/needs"
)

// TestSystemUser holds that a box lets in its user, who has a home, and nobody else,
// with the keys that it was started with and those that its script added.
func TestSystemUser(t *testing.T) {
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	all, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	m, err := all.New(cloudsim.MachineSpec{Name: "vm", GPU: "NVIDIA A10", GPUs: 2, GPUMiB: 23028, User: "ubuntu"})
	if err != nil {
		t.Fatal(err)
	}
	var keys []ssh.Signer
	var public []string
	for range 3 {
		_, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ssh.NewSignerFromKey(private)
		if err != nil {
			t.Fatal(err)
		}
		keys, public = append(keys, key), append(public, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))))
	}
	script := "mkdir -p /home/ubuntu/.ssh; echo '" + public[1] + "' > /home/ubuntu/.ssh/authorized_keys; touch /tmp/done"
	if err := m.Start(public[:1], script, nil); err != nil {
		t.Fatal(err)
	}
	run := func(user string, key int, command string) (string, error) {
		c, err := ssh.Dial("tcp", net.JoinHostPort(m.Address(), "22"), &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(keys[key])}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute})
		if err != nil {
			return "", err
		}
		defer c.Close()
		s, err := c.NewSession()
		if err != nil {
			return "", err
		}
		out, err := s.CombinedOutput(command)
		return strings.TrimSpace(string(out)), err
	}
	const look = "until [ -e /tmp/done ]; do sleep 0.05; done; whoami; cd; pwd; touch mine && echo writes; nvidia-smi -L | wc -l"
	for key, ok := range []bool{true, true, false} {
		if got, err := run("ubuntu", key, look); (err == nil) != ok || ok && got != "ubuntu\n/home/ubuntu\nwrites\n2" {
			t.Errorf("key %d: %q %v", key, got, err)
		}
	}
	if got, err := run("root", 0, "whoami"); err == nil {
		t.Errorf("root gets in: %q", got)
	}
	m.Kill()
	if a := m.Address(); a != "" {
		t.Errorf("it is off, and at %s", a)
	}
}

// TestSystemKept holds that a wiped box has lost its disk but for the folder that it
// keeps, also when another box of its name begins.
func TestSystemKept(t *testing.T) {
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	all, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))}
	run := func(gpus int, command string) string {
		t.Helper()
		m, err := all.New(cloudsim.MachineSpec{Name: "pod", GPU: "NVIDIA L4", GPUs: gpus, GPUMiB: 23034, Kept: "/kept-here"})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(public, "", nil); err != nil {
			t.Fatal(err)
		}
		defer m.Wipe()
		c, err := ssh.Dial("tcp", net.JoinHostPort(m.Address(), "22"), &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.CombinedOutput(command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := run(1, "echo 1 > /kept-here/a; echo 1 > ~/a; echo 1 > /tmp/a; touch /usr/mine 2>/dev/null || nvidia-smi -L | wc -l"); got != "1" {
		t.Errorf("%q", got)
	}
	if got := run(0, "ls /kept-here ~ /tmp; nvidia-smi -L || echo exit $?"); got != "/kept-here:\na\n\n/root:\n\n/tmp:\nNo devices were found\nexit 6" {
		t.Errorf("%q", got)
	}
}
