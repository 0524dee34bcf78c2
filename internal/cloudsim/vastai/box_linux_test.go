package vastai

import (
	"crypto/ed25519"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	"github.com/muster-run/muster/internal/needs"
)

// TestSystemInstance holds that a rented instance is a machine: root gets in with
// the account's key alone, its disk survives a stop, what runs does not, it can end
// itself with its own key, and nothing of it stays.
func TestSystemInstance(t *testing.T) {
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	as, err := cloudsim.NewAccounts("key")
	if err != nil {
		t.Fatal(err)
	}
	v := New(&cloudsim.World{Clock: cloudsim.NewClock(start, 0), Accounts: as, Machines: machines, Trouble: func(err error) { t.Error(err) }})
	server := cloudsim.NewServer(v.World, v)
	server.NoLimit = true
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); v.Close() })
	s := &sim{t, v, server, web.URL, "key"}

	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	s.call("POST", "/api/v0/ssh/", `{"ssh_key":"`+public+`"}`)
	disks := func(id string) []string {
		dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "muster-boxes-*", "C."+id))
		if err != nil {
			t.Fatal(err)
		}
		return dirs
	}
	others := disks("*") // of simulators beside this one, or of one that was killed
	id := s.rent(41004, `,"env":{"GREETING":"hello world"},"onstart":"env > /root/env; touch /root/ready"`)
	s.pass(time.Minute)
	s.is(id, running)
	port := func() string {
		return s.show(id)["ports"].(map[string]any)["22/tcp"].([]any)[0].(map[string]any)["HostPort"].(string)
	}
	client := func(keys ...ssh.Signer) (*ssh.Client, error) {
		return ssh.Dial("tcp", "127.0.0.1:"+port(), &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(keys...)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute})
	}
	// root waits for its ssh server: "running" does not say that it is up.
	root := func(command string) string {
		t.Helper()
		var c *ssh.Client
		for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if c, err = client(signer); err == nil {
				break
			}
			if time.Now().After(limit) {
				t.Fatal(err)
			}
		}
		defer c.Close()
		session, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		out, err := session.CombinedOutput(command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	until := "until [ -e /root/ready ]; do sleep 0.05; done; "
	if got := root(until + "hostname; whoami; cd; pwd; nvidia-smi -L; nvidia-smi --query-gpu=name,memory.total --format=csv,noheader"); !strings.HasPrefix(got, fmt.Sprintf("C.%d\nroot\n/root\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-", id)) || !strings.HasSuffix(got, "\nNVIDIA A100-SXM4-80GB, 81920") {
		t.Errorf("%s", got)
	}
	if got := root("cat env"); !strings.Contains(got, "GREETING=hello world") || !strings.Contains(got, fmt.Sprintf("CONTAINER_ID=%d", id)) || !strings.Contains(got, "VAST_TCP_PORT_22="+port()) {
		t.Errorf("%s", got)
	}
	if got := root("touch /usr/mine 2>&1 || echo refused"); !strings.HasSuffix(got, "refused") {
		t.Errorf("it writes on this machine: %s", got)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := ssh.NewSignerFromKey(other)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := client(stranger); err == nil {
		c.Close()
		t.Error("a stranger gets in")
	}
	boot := root("echo kept > result; setsid sleep 1000 >/dev/null 2>&1 & cat /proc/sys/kernel/random/boot_id")
	own := slices.DeleteFunc(disks(strconv.Itoa(id)), func(dir string) bool { return slices.Contains(others, dir) })
	if len(own) == 0 {
		t.Fatal("it has no disk")
	}
	s.call("PUT", instancePath(id), `{"state":"stopped"}`)
	s.pass(time.Minute)
	s.is(id, off)
	s.call("PUT", instancePath(id), `{"state":"running"}`)
	s.pass(time.Minute)
	if got := root("cat result; pgrep -x -f 'sleep 1000' || echo none; cat /proc/sys/kernel/random/boot_id"); !strings.HasPrefix(got, "kept\nnone\n") || strings.HasSuffix(got, boot) {
		t.Errorf("%s", got)
	}
	if s.bill(id).IsZero() {
		t.Error("no bill")
	}
	root(`eval "$(grep -E '^(VAST_URL|CONTAINER_ID|CONTAINER_API_KEY)=' env)"
printf 'DELETE /api/v0/instances/%s/ HTTP/1.1\r\nHost: vast\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n' "$CONTAINER_ID" "$CONTAINER_API_KEY" > call
(sleep 0.5; bash -c "cat call > /dev/tcp/${VAST_URL#http://}/80") >/dev/null 2>&1 &`)
	for doomed := false; !doomed; time.Sleep(20 * time.Millisecond) {
		v.Clock.Do(func() { doomed = v.instances[id].doomed })
	}
	s.pass(time.Minute)
	s.is(id, "gone")
	var dirs []string
	for limit := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		dirs = slices.DeleteFunc(disks(strconv.Itoa(id)), func(dir string) bool { return !slices.Contains(own, dir) })
		if len(dirs) == 0 || time.Now().After(limit) {
			break
		}
	}
	if len(dirs) > 0 {
		t.Errorf("its disk is there: %s", dirs)
	}
}
