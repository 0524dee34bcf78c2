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
	w.check = rental.Inspect(func(ctx context.Context, m rental.Machine, command string) (string, int, error) {
		return sshRun(m, key, command)
	}, rental.Need{CUDA: "12.4", Folder: "/root/work", Programs: []string{"setsid", "curl|python3"}}, time.Now)
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

// TestSystemIllMachines checks machines with real ssh servers that are ill, each in
// another way, and one that is well.
func TestSystemIllMachines(t *testing.T) {
	// Requirement: SM-26
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machines.Close)
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{
		"":             "",
		"old_driver":   "its driver 470.82.01 supports CUDA 11.4, and the jobs need 12.4",
		"xid":          "its driver reported Xid 79: the GPU has fallen off the bus",
		"lost_gpu":     "its nvidia-smi fails with exit 15",
		"hot":          "its GPU 0 is at 91 °C and runs at 300 of 2520 MHz",
		"full_disk":    "its disk has 64KiB free, and 1GiB is needed",
		"slow_disk":    "a second, and muster wants 32MiB",
		"slow_network": "a second here, and muster wants 128KiB",
		"no_programs":  "its image has no curl or python3, which muster needs",
	}
	if got := len(sim.Ills); got != len(said)-1 {
		t.Errorf("%d illnesses, and %d are checked", got, len(said)-1)
	}
	for ill, why := range said {
		t.Run(ill, func(t *testing.T) {
			t.Parallel()
			m, err := machines.New(sim.MachineSpec{Name: "box" + strings.ReplaceAll(ill, "_", ""), GPU: "NVIDIA GeForce RTX 4090", GPUs: 1, GPUMiB: 24564, Ill: ill})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(m.Remove)
			if err := m.Start([]string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))}, "true", nil); err != nil {
				t.Fatal(err)
			}
			run := func(ctx context.Context, _ rental.Machine, command string) (string, int, error) {
				conn, err := m.Dial(ctx)
				if err != nil {
					return "", 0, err
				}
				return sshOver(conn, "root", key, command)
			}
			need := rental.Need{CUDA: "12.4", Folder: "/root/work", Free: 1 << 30, Programs: []string{"setsid", "curl|python3"}}
			found, err := rental.Inspect(run, need, time.Now)(t.Context(), rental.Machine{}, rental.Offer{GPU: "RTX 4090", GPUs: 1, GPUMemory: 24564 << 20})
			var unfit *rental.Unfit
			switch {
			case why == "" && (err != nil || found.Driver != "570.124.06" || found.CUDA != "12.8" || found.Free == 0 || found.DiskSpeed == 0 || found.NetSpeed == 0):
				t.Errorf("%+v, %v", found, err)
			case why != "" && (!errors.As(err, &unfit) || !strings.Contains(unfit.Why, why)):
				t.Errorf("%v; want %q", err, why)
			}
		})
	}
}

// sshOver runs a command over a connection to a machine's ssh server.
func sshOver(conn net.Conn, user string, key ssh.Signer, command string) (string, int, error) {
	c, channels, requests, err := ssh.NewClientConn(conn, "box", &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second})
	if err != nil {
		return "", 0, err
	}
	client := ssh.NewClient(c, channels, requests)
	defer client.Close()
	return output(client, command)
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
	return output(client, command)
}

// output is the output of a command, and its exit code.
func output(client *ssh.Client, command string) (string, int, error) {
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
