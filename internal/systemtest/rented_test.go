package systemtest

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/vastai"
)

// onRented is a campaign on a machine that is reached over ssh.
const onRented = `
campaign "rented" {}
backend "ssh" "box" {
  host       = "root@%s"
  port       = %d
  accept_new = true
  workdir    = "/root/work"
}
grid "g" { axes = { i = range(4) } }
phase "p" {
  grid = grid.g
  place { candidates = [backend.ssh.box] }
  job {
    command = "nvidia-smi -L > ${output.x}; echo devices $CUDA_VISIBLE_DEVICES >> ${output.x}"
    output "x" { path = "out/${cell.i}" }
    resources {
      gpus     = 1
      walltime = "5m"
    }
  }
}
`

// TestSystemRentedMachine rents a simulated machine, checks its GPU over ssh, runs a
// campaign on it, pulls the results, gives it back and finds it gone, at the price
// that the cloud billed.
func TestSystemRentedMachine(t *testing.T) {
	w := newWorld(t, `campaign "rented" {}`)
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	home := filepath.Join(filepath.Dir(w.dir), "home")
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	key := filepath.Join(home, ".ssh", "id_ed25519")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(needs.Program(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}

	const speed = 30
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := sim.NewAccounts("key account=me credit=25\n")
	if err != nil {
		t.Fatal(err)
	}
	v := simvast.New(&sim.World{Clock: sim.NewClock(time.Now(), speed), Accounts: accounts, Machines: machines, Trouble: func(err error) { t.Error(err) }})
	web := httptest.NewServer(sim.NewServer(v.World, v))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); v.Close() })
	now := func() (now time.Time) {
		v.Clock.Do(func() { now = v.Clock.Now() })
		return now
	}
	cloud := vastai.New(rental.Access{Service: "Vast.ai", URL: web.URL, Key: "key", Now: now, Sleep: func(ctx context.Context, d time.Duration) error { time.Sleep(d / speed); return ctx.Err() }})
	if err := cloud.AddKey(t.Context(), strings.TrimSpace(string(public))); err != nil {
		t.Fatal(err)
	}
	check := rental.Inspect(func(ctx context.Context, m rental.Machine, command string) (string, int, error) {
		cmd := exec.CommandContext(ctx, "ssh", "-F", "none", "-i", key, "-p", strconv.Itoa(m.Port), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", m.User+"@"+m.Host, command)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() != 255 {
			return string(out), exit.ExitCode(), nil
		}
		return string(out), 0, err
	}, rental.Need{Folder: "/root/work"}, time.Now)
	keeper, err := rental.Open(rental.Config{Cloud: cloud, Terms: vastai.Platform{}.Facts().Terms, Dir: filepath.Join(filepath.Dir(w.dir), "rentals"), Lineage: "abc", Check: check, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	token, err := keeper.Rent(rental.Want{GPUs: 1, Models: []string{"RTX 5090"}, Disk: 20e9, MostUSDPerHour: decimal.RequireFromString("0.70"), Image: "pytorch/pytorch"})
	if err != nil {
		t.Fatal(err)
	}
	until := func(step rental.Step) rental.Rental {
		t.Helper()
		for limit := now().Add(2 * time.Hour); now().Before(limit); time.Sleep(50 * time.Millisecond) {
			if turned, err := keeper.Turn(t.Context()); err != nil || len(turned.Orphans) > 0 {
				t.Fatalf("%+v %v", turned, err)
			}
			if r := keeper.Rentals()[0]; r.Step == step && (step != rental.Gone || r.USD != "") {
				return r
			}
		}
		t.Fatalf("%+v", keeper.Rentals())
		return rental.Rental{}
	}
	ready := until(rental.Ready)
	w.write("campaign.muster.hcl", fmt.Sprintf(onRented, ready.Machine.Host, ready.Machine.Port))
	w.want(0, "Done: 4 of 4 jobs done and verified.", "apply", "-auto-approve")
	w.want(0, "4 files", "pull")
	for i := range 4 {
		text, err := os.ReadFile(filepath.Join(w.dir, "outputs", "out", strconv.Itoa(i)))
		if err != nil || !strings.HasPrefix(string(text), "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-") || !strings.Contains(string(text), "devices GPU-") && !strings.Contains(string(text), "devices 0") {
			t.Errorf("%s %v", text, err)
		}
	}
	if err := keeper.Release(token, "its results are here"); err != nil {
		t.Fatal(err)
	}
	gone := until(rental.Gone)
	usd, err := decimal.NewFromString(gone.USD)
	if err != nil || !usd.IsPositive() {
		t.Errorf("it cost %q", gone.USD)
	}
	if credit, err := cloud.Credit(t.Context()); err != nil || !credit.Add(usd).Sub(decimal.NewFromInt(25)).Abs().LessThan(decimal.New(1, -3)) {
		t.Errorf("$25 were paid in, $%s are left, and it cost $%s: %v", credit, usd, err)
	}
}
