package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Start boots the host if it is down.
func (h *Host) Start() { h.ctl("start") }

// Crash is a power cut: its processes end and its link goes silent.
func (h *Host) Crash() { h.ctl("crash") }

// Cut takes its link down: packets vanish silently.
func (h *Host) Cut() { h.ctl("cut") }

// Drop makes ssh packets to and from it vanish.
func (h *Host) Drop() { h.ctl("drop") }

// Reject refuses new ssh connections to it.
func (h *Host) Reject() { h.ctl("reject") }

// Loss loses a share of ssh packets, each way: "0.3".
func (h *Host) Loss(share string) { h.ctl("loss", share) }

// Heal undoes Cut, Drop, Reject and Loss.
func (h *Host) Heal() { h.ctl("heal") }

// Freeze stops all its processes from being run; its link stays up.
func (h *Host) Freeze() { h.ctl("freeze") }

// Thaw undoes Freeze.
func (h *Host) Thaw() { h.ctl("thaw") }

// StopSSHD ends every sshd on it, and with them every connection.
func (h *Host) StopSSHD() { h.ctl("sshd-stop") }

// StartSSHD undoes StopSSHD.
func (h *Host) StartSSHD() { h.ctl("sshd-start") }

// NewKey gives it another host key, as after a new installation.
func (h *Host) NewKey() {
	h.ctl("newkey")
	h.StopSSHD()
	h.StartSSHD()
}

func (h *Host) ctl(verb string, args ...string) {
	h.t.Helper()
	if out, err := script(h.dir, h.env, "host-ctl", append([]string{verb, h.Name}, args...)...).CombinedOutput(); err != nil {
		h.t.Fatalf("host-ctl %s %s: %v\n%s", verb, h.Name, err, out)
	}
}

// Command is a command inside the host, as root, ready to be run.
func (h *Host) Command(args ...string) *exec.Cmd {
	return script(h.dir, h.env, "host-ctl", append([]string{"exec", h.Name}, args...)...)
}

// Exec runs a shell command inside the host, as root, and returns its output.
func (h *Host) Exec(command string) string {
	h.t.Helper()
	out, err := h.Command("sh", "-c", command).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %s: %v\n%s", h.Name, command, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// Path is the path on this machine of a path of the host: below /home, /root, /tmp, /srv or
// /var/tmp.
func (h *Host) Path(path string) string {
	if rest, ok := strings.CutPrefix(path, "/var/tmp"); ok {
		path = "/vartmp" + rest
	}
	return filepath.Join(h.dir, "hosts", h.Name, path)
}

// Log is its sshd's log.
func (h *Host) Log() string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "log", h.Name+".log"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// Connections is how many connections its sshd has taken since it came up.
func (h *Host) Connections() int {
	return strings.Count(h.Log(), "Connection from ")
}

// Typed is alice's input at logins, one line each: "password right", "code wrong". Only hosts
// with LAB_CODE record it.
func (h *Host) Typed() []string {
	h.t.Helper()
	text, err := os.ReadFile(h.Path("/root/typed"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
}
