package rental_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers/rental"
)

// TestSystemUnfitMachines rents machines with real ssh servers: one has another GPU
// than its offer says, one says that it runs and never answers, and the third is it.
func TestSystemUnfitMachines(t *testing.T) {
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := sim.NewAccounts("key account=me credit=25\n")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, clock: sim.NewClock(start, 0), dir: t.TempDir()}
	v := simvast.New(&sim.World{Clock: w.clock, Accounts: accounts, Machines: machines, Trouble: func(err error) { t.Error(err) }})
	web := httptest.NewServer(sim.NewServer(v.World, v))
	w.url = web.URL
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); v.Close() })
	w.cloud = &watched{Cloud: w.client("key"), calls: map[string]int{}}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	w.api("POST", "/api/v0/ssh/", `{"ssh_key":"`+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))+`"}`)
	w.check = rental.Devices(func(ctx context.Context, m rental.Machine, command string) (string, int, error) {
		return sshRun(m, key, command)
	})
	w.open()
	w.fault(`{"on":"boot","do":"wrong_gpu"}`)
	w.fault(`{"on":"boot","do":"no_ssh","after":1}`)
	w.wants()
	for limit := time.Now().Add(5 * time.Minute); w.steps() != "gone, gone, ready"; {
		if w.turns(10 * time.Second); time.Now().After(limit) {
			t.Fatal(w.steps())
		}
	}
	for _, r := range w.Rentals() {
		if says := map[int]string{1: "its GPU is NVIDIA GeForce GTX 1080 Ti, and its offer says RTX 4090", 2: "it runs, and cannot be reached in 15m0s", 3: ""}[r.Box]; !strings.HasPrefix(r.Why, says) {
			t.Errorf("box %d: %s", r.Box, r.Why)
		}
		w.release(r.Token)
	}
	w.turns(5 * time.Minute)
	w.settled(3)
}

// sshRun gives a machine that boots a moment of real time, which the cloud's clock
// does not know.
func sshRun(m rental.Machine, key ssh.Signer, command string) (string, int, error) {
	var client *ssh.Client
	var err error
	for range 4 {
		client, err = ssh.Dial("tcp", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)), &ssh.ClientConfig{User: m.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second})
		if err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return "", 0, err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return "", 0, err
	}
	out, err := session.Output(command)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitStatus(), nil
	}
	return string(out), 0, err
}
