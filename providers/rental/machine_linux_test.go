package rental_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/ssh"
	"github.com/muster-run/muster/providers/vastai"
)

// TestSystemMachineEndsItself runs a job on a machine with a real ssh server, by the
// way that muster takes, and then closes muster: the machine gives itself up, since
// the result is here.
func TestSystemMachineEndsItself(t *testing.T) {
	needs.System(t, "runs real ssh servers in namespaces, as root")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	hostProgram(t)
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := sim.NewAccounts("key account=me credit=25\n")
	if err != nil {
		t.Fatal(err)
	}
	clock := sim.NewClock(time.Now(), 20)
	v := simvast.New(&sim.World{Clock: clock, Accounts: accounts, Machines: machines, Trouble: func(err error) { t.Error(err) }})
	web := httptest.NewServer(sim.NewServer(v.World, v))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); v.Close() })
	go clock.Run(t.Context())
	t.Setenv("VAST_URL", web.URL)
	t.Setenv("VAST_API_KEY", "key")

	p := rental.New(vastai.Platform{})
	settings, err := json.Marshal(map[string]any{"image": "i", "gpu": []string{"RTX 4090"}, "max_usd_per_hour": 0.6, "reliability": 0.95, "disk": 20e9})
	if err != nil {
		t.Fatal(err)
	}
	b := providers.Backend{Name: "vastai.cloud", Type: "vastai", Workdir: "/root/work", Lineage: "abc", Dir: t.TempDir(), Config: settings, OnHold: "release"}
	if err := p.Configure(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	n := &town{world: &world{T: t, url: web.URL}, provider: p, backend: b}
	in := []byte("41\n")
	if err := p.Push(t.Context(), b.Name, "/root/work/in.txt", int64(len(in)), "", bytes.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	j := n.job("a", "echo $(( $(cat in.txt) + 1 )) > a.json; nvidia-smi -L; test ! -e /root/.muster-fuse/safe")
	j.Shape.GPUs = 1
	n.submit(j)
	seen := n.until("it to be done", all(offer.Completed, j))
	if got := seen[j.Token]; len(got.Outputs) != 1 || !got.Outputs[0].OK || got.Rental == nil {
		t.Errorf("seen %+v", got)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(b.Dir, ".muster/rentals/abc/vastai.cloud/files/root/work/a.json")); err != nil || string(got) != "42\n" {
		t.Errorf("the result is %q, %v", got, err)
	}
	if got := n.alive(); len(got) != 1 {
		t.Fatalf("machines %v", got)
	}
	for end := time.Now().Add(8 * time.Minute); len(n.alive()) > 0; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("machines %v are still there", n.alive())
		}
	}
}

// hostProgram builds the program for hosts, which a test binary has not inside.
func hostProgram(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./cmd/muster-host/pack")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pack := exec.Command(filepath.Join(dir, "pack"), dir)
	pack.Dir = "../.."
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv(ssh.EnvBinaries, dir)
}
