package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	simlambda "github.com/muster-run/muster/internal/cloudsim/lambda"
	simpaperspace "github.com/muster-run/muster/internal/cloudsim/paperspace"
	simrunpod "github.com/muster-run/muster/internal/cloudsim/runpod"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/internal/needs"
)

// cloudKey is the API key of the tests: no file of muster, and none of a machine, may
// hold it.
const cloudKey = "systemtest-api-key-5f1c"

// clouds are those without a test of their own in another file.
var clouds = map[string]struct {
	simulate         func(*sim.World) sim.Cloud
	url, path, key   string // variables, and what follows the server in the first
	create, destroy  string // operations
	lingers          string // what a machine does that is not gone yet
	saysNothingStops bool
}{
	"vastai":     {func(w *sim.World) sim.Cloud { return simvast.New(w) }, "VAST_URL", "", "VAST_API_KEY", "create", "destroy", "linger", false},
	"lambda":     {func(w *sim.World) sim.Cloud { return simlambda.New(w) }, "LAMBDA_CLOUD_API_URL", "/api/v1", "LAMBDA_API_KEY", "launch", "terminate", "linger", true},
	"runpod":     {func(w *sim.World) sim.Cloud { return simrunpod.New(w) }, "RUNPOD_API_URL", "", "RUNPOD_API_KEY", "create", "terminate", "linger", false},
	"paperspace": {func(w *sim.World) sim.Cloud { return simpaperspace.New(w) }, "PAPERSPACE_API_URL", "/v1", "PAPERSPACE_API_KEY", "create", "delete", "linger", false},
}

// keyPlaces are settings by which a campaign says where its key is; "KEYFILE" is a file
// with it. Without one it is in a variable.
var keyPlaces = map[string]string{
	"lambda":     `api_key_command = ["cat", "KEYFILE"]`,
	"paperspace": `api_key_file = "KEYFILE"`,
}

// TestSystemClouds runs the campaign that init writes for a cloud, on machines with
// real ssh servers, by init, plan, apply, pull and destroy: the answer to the order is
// lost, muster is killed while the machine boots, and the machine lingers when it is
// given back. One machine is rented and none is left, its result is here, and the API
// key is in no file, no command line and no URL.
func TestSystemClouds(t *testing.T) {
	for name, c := range clouds {
		t.Run(name, func(t *testing.T) {
			r := rentsAt(t, name)
			w := r.world
			r.keepKeyIn(keyPlaces[name])
			defer r.watchCommandLines()()
			if out, code := w.run("plan"); code != 2 && code != 0 || strings.Contains(out, "no ceiling while muster is off: $") != c.saysNothingStops {
				t.Errorf("exit %d\n%s", code, out)
			}
			r.fault(sim.Fault{On: c.create, Do: "lost"})
			apply := w.command("apply", "-auto-approve")
			if err := apply.Start(); err != nil {
				t.Fatal(err)
			}
			for len(r.truth()) == 0 {
				time.Sleep(20 * time.Millisecond)
			}
			if err := apply.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = apply.Wait() // it was killed
			w.want(0, "Done: 1 of 1 jobs done and verified.", "apply", "-auto-approve")
			w.want(0, "1 file", "pull")
			if text, err := os.ReadFile(filepath.Join(w.dir, "outputs", "gpu.txt")); err != nil || !strings.HasPrefix(string(text), "NVIDIA ") {
				t.Errorf("%q %v", text, err)
			}
			r.keyless(filepath.Dir(w.dir))
			boxes, err := filepath.Glob(filepath.Join(os.TempDir(), "muster-boxes-*"))
			if err != nil || len(boxes) == 0 {
				t.Fatalf("%q %v", boxes, err)
			}
			for _, dir := range boxes {
				r.keyless(dir)
			}
			r.age()
			r.fault(sim.Fault{On: c.destroy, Do: c.lingers, For: sim.Duration(2 * time.Minute)})
			w.want(0, "Destroyed", "destroy", "-auto-approve", "-allow-cancel")
			if all := r.truth(); len(all) != 1 || !all[0].Gone {
				t.Errorf("%+v", all)
			}
		})
	}
}

// TestSystemPodStopsItself kills muster while a job runs on a pod. The pod stops itself,
// since its result is nowhere else, and comes back without its GPU, its own disk wiped
// and its ssh server under another key: the next apply has the result all the same.
func TestSystemPodStopsItself(t *testing.T) {
	r := rentsAt(t, "runpod")
	w := r.world
	text := strings.Replace(w.campaign(), `"10m"               # after the last job`, `"1s"`, 1)
	w.write("campaign.muster.hcl", strings.Replace(text, `"nvidia-smi `, `"sleep 10; nvidia-smi `, 1))
	apply := w.command("apply", "-auto-approve")
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("the job runs", func() bool { out, _ := w.run("status"); return strings.Contains(out, "1 running") })
	if err := apply.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = apply.Wait() // it was killed
	r.fault(sim.Fault{On: "start", Do: "zero_gpus"})
	w.until("the pod is stopped", func() bool { return r.truth()[0].Status == "EXITED" })
	w.want(0, "Done: 1 of 1 jobs done and verified.", "apply", "-auto-approve")
	w.want(0, "1 file", "pull")
	if text, err := os.ReadFile(filepath.Join(w.dir, "outputs", "gpu.txt")); err != nil || !strings.HasPrefix(string(text), "NVIDIA GeForce RTX 4090") {
		t.Errorf("%q %v", text, err)
	}
	r.age()
	w.want(0, "Destroyed", "destroy", "-auto-approve", "-allow-cancel")
	if all := r.truth(); len(all) != 1 || !all[0].Gone {
		t.Errorf("%+v", all)
	}
}

// rentsAt is the campaign that init writes for a cloud, beside the cloud.
func rentsAt(t *testing.T, name string) *rented {
	t.Helper()
	c, w := clouds[name], newWorld(t, "")
	if why := box.Here(); why != "" {
		needs.Absent(t, why)
	}
	machines, err := box.New()
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := sim.NewAccounts(cloudKey + "\n")
	if err != nil {
		t.Fatal(err)
	}
	world := &sim.World{Clock: sim.NewClock(time.Now(), 30), Accounts: accounts, Machines: machines, Trouble: func(err error) { t.Error(err) }}
	cloud := c.simulate(world)
	server := sim.NewServer(world, cloud)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.String(), cloudKey) {
			t.Errorf("%s holds the API key", q.URL)
		}
		server.ServeHTTP(w, q)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); cloud.Close() })
	go world.Clock.Run(t.Context())
	t.Setenv(c.url, web.URL+c.path)
	t.Setenv(c.key, cloudKey)
	t.Setenv("HOME", filepath.Join(filepath.Dir(w.dir), "home"))
	if err := os.Remove(filepath.Join(w.dir, "campaign.muster.hcl")); err != nil {
		t.Fatal(err)
	}
	w.want(0, "What next", "init", "-from="+name)
	return &rented{w, t, world, cloud, c.key}
}

// rented is a campaign at a simulated cloud.
type rented struct {
	*world
	*testing.T
	sim   *sim.World
	cloud sim.Cloud
	key   string // variable with the API key
}

// keepKeyIn has the campaign find its key by a setting, and not in a variable.
func (r *rented) keepKeyIn(setting string) {
	r.Helper()
	if setting == "" {
		return
	}
	path := filepath.Join(r.TempDir(), "key")
	if err := os.WriteFile(path, []byte(cloudKey+"\n"), 0o600); err != nil {
		r.Fatal(err)
	}
	r.Setenv(r.key, "")
	r.write("campaign.muster.hcl", strings.Replace(r.campaign(), "  workdir ", "  "+strings.Replace(setting, "KEYFILE", path, 1)+"\n  workdir ", 1))
}

// watchCommandLines looks at the command lines of this machine's processes until it is
// told to end: none may hold the API key.
func (r *rented) watchCommandLines() (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			for _, line := range commandLines() {
				if strings.Contains(line, cloudKey) {
					r.Errorf("a command line holds the API key: %q", line)
					tick.Stop()
					return
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

func (r *rented) fault(f sim.Fault) {
	r.Helper()
	r.sim.Clock.Do(func() {
		if err := r.sim.Faults.Add(f); err != nil {
			r.Fatal(err)
		}
	})
}

// An actual is a machine as it really is.
type actual struct {
	ID     sim.Name
	Gone   bool
	Status string
}

// truth are all machines that were rented.
func (r *rented) truth() []actual {
	r.Helper()
	var text []byte
	var err error
	r.sim.Clock.Do(func() { text, err = json.Marshal(r.cloud.Truth()) })
	var a struct{ Instances []actual }
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		r.Fatal(err)
	}
	return a.Instances
}

var asked = regexp.MustCompile(`"asked": "[^"]*"`)

// age has the machines rented an hour ago: those of the last minutes may be missing in
// a cloud's list, and are not taken for gone.
func (r *rented) age() {
	r.Helper()
	for _, path := range r.files(".muster/rentals/*/*/machines/*") {
		text, err := os.ReadFile(path)
		if err == nil {
			text = asked.ReplaceAll(text, fmt.Appendf(nil, `"asked": %q`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
}

// keyless fails if a file below a folder holds the API key.
func (r *rented) keyless(dir string) {
	r.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // it went while it was looked at
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(cloudKey)) {
			r.Errorf("%s holds the API key", path)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
}

// TestSystemRentedExample applies examples/rented on simulated machines: two are rented at
// most, none before the check here passed, and none is left; its results are here, and the
// destroy says what is billed until each machine is gone.
func TestSystemRentedExample(t *testing.T) {
	// Requirement: SM-10
	r := rentsAt(t, "vastai")
	w := r.world
	for _, name := range []string{"campaign.muster.hcl", "pi.awk"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "rented", name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(name, string(text))
	}
	w.want(0, "Done: 6 of 6 jobs done and verified.", "apply", "-auto-approve")
	w.want(0, "6 files", "pull")
	if text, err := os.ReadFile(filepath.Join(w.dir, "outputs", "table.txt")); err != nil || strings.Count(string(text), `"pi": 3.1`) != 4 {
		t.Errorf("%q %v", text, err)
	}
	r.age()
	r.fault(sim.Fault{On: "destroy", Do: "linger", For: sim.Duration(2 * time.Minute)})
	w.want(0, "is being released: it is billed, at $", "destroy", "-auto-approve", "-allow-cancel")
	for _, a := range r.truth() {
		if !a.Gone {
			t.Errorf("%+v", a)
		}
	}
	if n := len(r.truth()); n < 1 || n > 2 {
		t.Errorf("%d machines were rented", n)
	}
}

// TestSystemRentedPasses: nobody stays with a rented campaign. -detach rents a machine and
// leaves when it has the first job; each -once takes in a result and starts the next job,
// and the last one leaves nothing to do.
func TestSystemRentedPasses(t *testing.T) {
	// Requirement: SM-10
	r := rentsAt(t, "vastai")
	w := r.world
	text := strings.Replace(w.campaign(), `phase "gpu" {`, "phase \"gpu\" {\n  grid { axes = { i = range(3) } }", 1)
	w.write("campaign.muster.hcl", strings.Replace(text, `"gpu.txt"`, `"gpu${cell.i}.txt"`, 1))
	w.want(0, "Submitted: 0 of 3 jobs done", "apply", "-auto-approve", "-detach")
	if n := r.alive(); n != 1 {
		t.Fatalf("%d machines are rented", n)
	}
	passes := 0
	w.until("all is done", func() bool {
		out, code := w.run("apply", "-once")
		if passes++; code != 0 {
			t.Fatalf("pass %d: exit %d\n%s", passes, code, out)
		}
		return strings.Contains(out, "Done: 3 of 3 jobs done and verified.")
	})
	w.want(0, "Done: 3 of 3 jobs done and verified.", "apply", "-once")
	w.want(0, "3 files", "pull")
	if n := len(r.truth()); n != 1 {
		t.Errorf("%d machines were rented", n)
	}
	r.age()
	w.want(0, "Destroyed", "destroy", "-auto-approve", "-allow-cancel")
	if n := r.alive(); n != 0 {
		t.Errorf("%d machines are left", n)
	}
}
