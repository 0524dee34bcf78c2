package lab

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func ssh(h *Host, patience, command string) (string, error) {
	out, err := exec.Command("ssh", "-F", h.Config, "-o", "ConnectTimeout="+patience, h.Name, command).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// answers reports whether the host does; one that is there may take its time,
// but not where every answer is a failure.
func answers(h *Host) bool {
	_, err := ssh(h, "2", "true")
	return err == nil
}

func mustSSH(t *testing.T, h *Host, command string) string {
	t.Helper()
	out, err := ssh(h, "120", command)
	if err != nil {
		t.Fatalf("ssh %s %s: %v\n%s", h.Name, command, err, out)
	}
	return out
}

// TestSystemHosts holds that hosts behave as the tests assume.
func TestSystemHosts(t *testing.T) {
	all := Hosts(t, 2)
	a, b := all[0], all[1]
	if got := mustSSH(t, a, "whoami; hostname; echo $HOME; touch mark /var/tmp/mark /tmp/mark"); got != "alice\nh1\n/home/alice" {
		t.Errorf("got %q", got)
	}
	for _, path := range []string{"/home/alice/mark", "/var/tmp/mark", "/tmp/mark"} {
		if _, err := os.Stat(a.Path(path)); err != nil {
			t.Error(err)
		}
		if mustSSH(t, b, "test ! -e "+path+" || echo shared") != "" {
			t.Errorf("%s is shared", path)
		}
	}
	if a.Exec("cat /etc/machine-id") == b.Exec("cat /etc/machine-id") {
		t.Error("one machine id for two hosts")
	}
	boot := mustSSH(t, a, "cat /proc/sys/kernel/random/boot_id")
	a.Crash()
	if answers(a) {
		t.Error("a crashed host answers")
	}
	a.Start()
	if mustSSH(t, a, "cat /proc/sys/kernel/random/boot_id") == boot {
		t.Error("it did not boot anew")
	}
	for name, step := range map[string][2]func(){
		"cut": {b.Cut, b.Heal}, "drop": {b.Drop, b.Heal}, "reject": {b.Reject, b.Heal}, "freeze": {b.Freeze, b.Thaw}, "sshd": {b.StopSSHD, b.StartSSHD},
	} {
		step[0]()
		if answers(b) {
			t.Errorf("%s: it answers", name)
		}
		step[1]()
		mustSSH(t, b, "true")
	}
	b.NewKey()
	if out, err := ssh(b, "120", "true"); err == nil || !strings.Contains(out, "IDENTIFICATION HAS CHANGED") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestSystemGPUs(t *testing.T) {
	h := Hosts(t, 1)[0]
	h.GPUs(2)
	pid, release := h.Hold(1, 9000)
	used := "nvidia-smi --query-gpu=index,memory.used --format=csv,noheader,nounits"
	if got := mustSSH(t, h, used); got != "0, 3\n1, 9003" {
		t.Errorf("a stranger's: %q", got)
	}
	if user := h.Exec("stat -c %U /proc/" + strings.TrimSpace(h.Exec("pgrep -u bob sleep"))); user != "bob" {
		t.Errorf("pid %d is %s's", pid, user)
	}
	got := mustSSH(t, h, "export CUDA_VISIBLE_DEVICES="+h.UUID(0)+"; LAB_GPU_MIB=500 sleep 1000 & "+
		"until nvidia-smi --query-compute-apps=gpu_uuid,used_memory --format=csv,noheader,nounits | grep ', 500'; do sleep 0.1; done; kill $!")
	if got != h.UUID(0)+", 500" {
		t.Errorf("ours: %q", got)
	}
	release()
	if got := mustSSH(t, h, used); got != "0, 3\n1, 3" {
		t.Errorf("at rest: %q", got)
	}
}
