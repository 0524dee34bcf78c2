package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/providers/ssh"
)

const rentedCampaign = `campaign "rented" {}
backend "vastai" "cloud" {
  image            = "pytorch/pytorch"
  gpu              = ["RTX 4090"]
  max_usd_per_hour = 0.45
  reliability      = 0.95
  workdir          = "/root/work"
  hold             = "10m"
  on_hold          = "release"
}
phase "p" {
  place { candidates = [backend.vastai.cloud] }
  job {
    command = "echo > ${output.o}"
    resources { gpus = 1 }
    output "o" { path = "o" }
  }
}
`

// A renting is a campaign at a simulated cloud whose machines boot, and whose ssh servers
// do not answer. Its clock does not run.
type renting struct {
	*applied
	world *sim.World
	cloud *simvast.Vast
	url   string
}

func newRenting(t *testing.T) *renting {
	t.Helper()
	root := sessionDir(t)
	accounts, err := sim.NewAccounts("key account=me\nspare account=me\nhers account=her\n")
	if err != nil {
		t.Fatal(err)
	}
	world := &sim.World{Clock: sim.NewClock(time.Now(), 0), Accounts: accounts, Machines: sim.NoMachines{}}
	cloud := simvast.New(world)
	server := sim.NewServer(world, cloud)
	server.NoLimit = true
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); cloud.Close() })
	r := &renting{applied: &applied{t: t, dir: filepath.Join(root, "c")}, world: world, cloud: cloud, url: web.URL}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("c.muster.hcl", rentedCampaign)
	r.env = append(os.Environ(), append(sessionEnv(root), "CI=true", "MUSTER_TRUST=1", "HOME="+root, "VAST_URL="+r.url, hostProgram(t))...)
	return r
}

// hostProgram lets a muster without a program for hosts rent machines that nobody reaches.
func hostProgram(t *testing.T) (env string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "muster-host-linux-amd64"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return ssh.EnvBinaries + "=" + dir
}

// with is muster with a key, at a cloud that is there or away.
func (r *renting) with(key string, away bool, args ...string) (string, int) {
	url := r.url
	if away {
		url = "http://127.0.0.1:1"
	}
	other := *r.applied
	other.env = append(append([]string(nil), r.env...), "VAST_API_KEY="+key, "VAST_URL="+url)
	out, code := other.muster(args...)
	return strings.Join(strings.Fields(out), " "), code
}

// says fails unless a command says something, folded, and exits with a code.
func (r *renting) says(want string, wantCode int, key string, away bool, args ...string) {
	r.t.Helper()
	if out, code := r.with(key, away, args...); code != wantCode || !strings.Contains(out, want) {
		r.t.Errorf("%s with key %q, away %t: exit %d, not %d, without %q:\n%s", strings.Join(args, " "), key, away, code, wantCode, want, out)
	}
}

// rents starts an apply until the state has its machine, and kills it.
func (r *renting) rents() (id string) {
	r.t.Helper()
	other := *r.applied
	other.env = append(append([]string(nil), r.env...), "VAST_API_KEY=key")
	apply := other.start("apply", "-auto-approve")
	said := ""
	r.until("the machine to boot", func() bool {
		said, _ = r.with("", true, "cost")
		return strings.Contains(said, " on vastai.cloud booting $0.35")
	})
	if err := apply.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = apply.Wait() // it was killed
	return regexp.MustCompile(`([0-9]+) on vastai.cloud booting`).FindStringSubmatch(said)[1]
}

var askedAt = regexp.MustCompile(`"asked": "[^"]*"`)

// age has the machine rented three minutes ago: a later one may be missing in the
// cloud's list.
func (r *renting) age() {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, ".muster/rentals/*/*/machines/*.json"))
	if err != nil || len(files) != 1 {
		r.t.Fatalf("%q %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		text = askedAt.ReplaceAll(text, fmt.Appendf(nil, `"asked": %q`, time.Now().Add(-3*time.Minute).UTC().Format(time.RFC3339)))
		err = os.WriteFile(files[0], text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// A machine is in the state from its order on: with muster killed while it boots, and the
// cloud away, status, cost, plan and destroy name it with its price. A key of another
// account changes nothing of it, with muster's own records or without them.
func TestAMachineThatBootsIsInTheState(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	r := newRenting(t)
	id := r.rents()
	named := id + " on vastai.cloud"
	r.says("Still rented: "+named+", booting, $0.35", 0, "", true, "status")
	r.says(named+" has been booting since", 0, "key", true, "plan")
	r.says("Still rented: "+named+", booting", 3, "key", true, "destroy", "-auto-approve", "-allow-cancel")

	const stranger = "The API key belongs to account 5002, and account 5001 rented machine "
	r.says(stranger+id, 0, "hers", false, "plan")
	r.says(stranger+id, 0, "hers", false, "status", "-refresh")
	r.says(named+" booting $0.35", 0, "hers", false, "cost")
	r.says("Still rented: "+named, 3, "hers", false, "apply", "-auto-approve")
	r.says("Not destroyed: 1 machine still rented", 3, "hers", false, "destroy", "-auto-approve", "-allow-cancel")
	records := filepath.Join(r.dir, ".muster/rentals")
	if err := os.Rename(records, records+".lost"); err != nil {
		t.Fatal(err)
	}
	r.says(stranger+id, 0, "hers", false, "plan")
	r.says("Not destroyed: 1 machine still rented", 3, "hers", false, "destroy", "-auto-approve", "-allow-cancel")
	if err := os.RemoveAll(records); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(records+".lost", records); err != nil {
		t.Fatal(err)
	}
	r.world.Clock.SetSpeed(60)
	r.age()
	r.says("Destroyed: 1 job cancelled", 0, "spare", false, "destroy", "-auto-approve", "-allow-cancel")
	var left string
	r.world.Clock.Do(func() { left = fmt.Sprintf("%+v", r.cloud.Truth()) })
	if out, code := r.with("key", false, "cost"); code != 0 || !strings.Contains(out, "Billed right now: nothing rented") || !strings.Contains(out, "other $0.0") {
		t.Errorf("%s\n%s", out, left)
	}
}

// A machine with the campaign's label that the state does not know is listed with the command
// that ends it, and ends by a person's word alone.
func TestAnOrphanIsGivenBack(t *testing.T) {
	// Requirement: TDN-13
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	r := newRenting(t)
	known := r.rents()
	files, err := filepath.Glob(filepath.Join(r.dir, ".muster/rentals/*/*/machines/*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q %v", files, err)
	}
	lineage := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(files[0]))))
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.url+"/api/v0/asks/30100026/", strings.NewReader(`{"client_id":"me","image":"i","disk":20,"label":"muster-`+lineage+`-0123-1","runtype":"ssh_direct"}`))
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Authorization", "Bearer key")
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s %v", answer.StatusCode, text, err)
	}
	lost := regexp.MustCompile(`"new_contract": ?([0-9]+)`).FindStringSubmatch(string(text))[1]

	r.says("`muster apply -release="+lost+"` ends it", 0, "key", false, "plan")
	r.says("-release=77 names no orphan No orphan of this campaign has this id. There is "+lost+" on vastai.cloud", 1, "key", false, "plan", "-release=77")
	r.says("It is a machine of vastai.cloud that the state knows", 1, "key", false, "plan", "-release="+known)
	r.says("-release asks the backends and -refresh=false does not", 1, "key", false, "plan", "-release="+lost, "-refresh=false")
	r.says("- release "+lost+" orphan on vastai.cloud: the files on its disk are lost", 0, "key", false, "plan", "-out=lost.mplan", "-release="+lost)
	r.world.Clock.SetSpeed(60)
	r.age()
	other := *r.applied
	other.env = append(append([]string(nil), r.env...), "VAST_API_KEY=key")
	apply := other.start("apply", "lost.mplan")
	r.until("the orphan to be gone", func() bool {
		var left string
		r.world.Clock.Do(func() { left = fmt.Sprintf("%+v", r.cloud.Truth()) })
		return strings.Contains(left, "gone:true id:"+lost)
	})
	if err := apply.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = apply.Wait() // it was killed
	r.says("Destroyed: 1 job cancelled", 0, "key", false, "destroy", "-auto-approve", "-allow-cancel")
	r.says("Billed right now: nothing rented", 0, "key", false, "cost")
}
