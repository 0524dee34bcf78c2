// Package vm boots small virtual machines for system tests: a kernel, a shell
// and an ssh server in memory, with a clock and a processor that may differ
// from this machine's. They end with the test, even if the test process is
// killed.
package vm

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/needs"
)

// Options of a machine.
type Options struct {
	Name string        // by which ssh knows it
	Arch string        // "amd64" or "arm64"
	Skew time.Duration // of its clock to this machine's: negative is behind
}

// A Machine is a virtual machine with the users root and alice.
type Machine struct {
	Name   string
	Config string // ssh_config that reaches it by its name

	t       testing.TB
	console string
}

// An emulator is the program that emulates a processor.
type emulator struct {
	program, debian string
	machine         []string
	tty             string
}

var emulators = map[string]emulator{
	"amd64": {"qemu-system-x86_64", "qemu-system-x86", []string{"-M", "pc", "-cpu", "max"}, "ttyS0"},
	"arm64": {"qemu-system-aarch64", "qemu-system-arm", []string{"-M", "virt", "-cpu", "cortex-a57"}, "ttyAMA0"},
}

// bootTime is how long a machine may take to let one in; emulated, on a busy
// machine, it is tens of seconds.
const bootTime = 4 * time.Minute

// Boot boots a machine. Without MUSTER_SYSTEM_TESTS=1 the test is skipped;
// with it, the parts that `make test-system` fetches are to be there, in the
// folder that MUSTER_VM names.
func Boot(t testing.TB, o Options) *Machine {
	t.Helper()
	needs.System(t, "boots virtual machines")
	e := emulators[o.Arch]
	needs.Program(t, e.program)
	needs.Program(t, "ssh")
	parts := os.Getenv("MUSTER_VM")
	if parts == "" {
		needs.Absent(t, "MUSTER_VM does not name the folder that internal/lab/vm/parts has filled")
	}
	m := &Machine{Name: o.Name, t: t}
	dir := t.TempDir()
	m.console = filepath.Join(dir, "console")
	key, public, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parts, o.Arch, "root")
	files, err := initramfs(root, public)
	if err != nil {
		t.Fatalf("what a machine boots from, from %s: %v", root, err)
	}
	for name, text := range map[string][]byte{"initramfs": files, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kernels, _ := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if len(kernels) != 1 {
		t.Fatalf("kernels in %s: %q, want one", root, kernels)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s", m.Name, m.said())
		}
	})
	m.start(e, o, dir, kernels[0])
	if off := time.Until(m.Clock()) - o.Skew; off.Abs() > time.Minute {
		t.Fatalf("the clock of %s is off by %v more than the %v asked for", o.Name, off, o.Skew)
	}
	return m
}

// start boots until the machine answers; another program may take the port first.
func (m *Machine) start(e emulator, o Options, dir, kernel string) {
	m.t.Helper()
	for range 5 {
		port := freePort(m.t)
		end := run(m.t, exec.Command(e.program, append(e.machine,
			"-m", "512", "-smp", "1", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
			"-kernel", kernel, "-initrd", filepath.Join(dir, "initramfs"), "-append", "quiet panic=-1 console="+e.tty,
			"-serial", "file:"+m.console,
			"-rtc", "clock=host,base="+time.Now().Add(o.Skew).UTC().Format("2006-01-02T15:04:05"),
			"-netdev", fmt.Sprintf("user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port), "-device", "virtio-net-pci,netdev=net,romfile=")...))
		known, why := m.await(port, end)
		if why != nil {
			m.t.Logf("%v\n%s", why, m.said())
			continue
		}
		m.configure(dir, port, known)
		return
	}
	m.t.Fatalf("%s does not boot", m.Name)
}

// run starts a program that ends with this process, and with the test; end is
// closed when it has ended.
func run(t testing.TB, cmd *exec.Cmd) (end <-chan struct{}) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // whose end is the parent's to Pdeathsig
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() && said.Len() > 0 {
			t.Logf("%s: %s", cmd.Path, said.String())
		}
	})
	return ended
}

// await waits for the ssh server, and returns its key as a known_hosts line.
func (m *Machine) await(port int, end <-chan struct{}) (known string, err error) {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	stop := time.After(bootTime)
	for {
		select {
		case <-end:
			return "", fmt.Errorf("%s: its emulator has ended", m.Name)
		case <-stop:
			return "", fmt.Errorf("%s: nobody answers after %v", m.Name, bootTime)
		case <-time.After(100 * time.Millisecond):
		}
		var key ssh.PublicKey
		c, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{User: "nobody", Timeout: 20 * time.Second, HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
			HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error { key = k; return nil }})
		if err == nil {
			c.Close()
		}
		if key != nil {
			return fmt.Sprintf("[127.0.0.1]:%d %s", port, ssh.MarshalAuthorizedKey(key)), nil
		}
	}
}

func (m *Machine) configure(dir string, port int, known string) {
	m.t.Helper()
	m.Config = filepath.Join(dir, "ssh_config")
	config := fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %d\n  User alice\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  BatchMode yes\n",
		m.Name, port, filepath.Join(dir, "key"), filepath.Join(dir, "known_hosts"))
	for name, text := range map[string]string{m.Config: config, filepath.Join(dir, "known_hosts"): known} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

func newKey() (private, authorized []byte, err error) {
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(secret, "")
	if err != nil {
		return nil, nil, err
	}
	k, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(block), ssh.MarshalAuthorizedKey(k), nil
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// In is the same machine for a subtest.
func (m *Machine) In(t testing.TB) *Machine {
	sub := *m
	sub.t = t
	return &sub
}

// said is the machine's console output.
func (m *Machine) said() string {
	text, _ := os.ReadFile(m.console)
	return string(text)
}

// Exec runs a shell command in the machine, as root, and returns its output.
func (m *Machine) Exec(command string) string {
	m.t.Helper()
	out, err := exec.Command("ssh", "-F", m.Config, "-l", "root", m.Name, command).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %s: %v\n%s\n%s", m.Name, command, err, out, m.said())
	}
	return strings.TrimRight(string(out), "\n")
}

// Clock is the time on its clock.
func (m *Machine) Clock() time.Time {
	m.t.Helper()
	s, err := strconv.ParseInt(m.Exec("date +%s"), 10, 64)
	if err != nil {
		m.t.Fatal(err)
	}
	return time.Unix(s, 0)
}

// Turn sets its clock on, or back.
func (m *Machine) Turn(by time.Duration) {
	m.t.Helper()
	m.Exec(fmt.Sprintf("date -s @$(( $(date +%%s) + %d ))", int64(by.Seconds())))
}
