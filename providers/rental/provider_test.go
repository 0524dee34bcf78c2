package rental_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/tree"
	"github.com/muster-run/muster/providers/vastai"
)

// The test binary stands in for the program on a machine: started again with this
// variable it is a queue.
const beQueue = "MUSTER_TEST_QUEUE"

// A town is a simulated cloud whose machines are folders here, each with a queue of
// its own.
type town struct {
	*world
	provider *rental.Provider
	backend  providers.Backend
	mu       sync.Mutex
	key      string          // of the provider
	cut      map[string]bool // machines that do not answer
	folders  map[string]string
	says     func(id string) string         // what the check of a machine prints; nil = all is well
	hostOf   func(*folder) rental.Host      // a machine as a test wants it; nil = as it is
	cloudOf  func(platform) rental.Platform // the cloud as a test wants it; nil = as it is
	unable   error                          // why no job could run on any machine
	traces   string
}

// platform is Vast.ai as the simulator of a world has it.
type platform struct {
	vastai.Platform
	*world
	key string
}

func (p platform) Open(providers.Backend) (rental.Cloud, error) { return p.client(p.key), nil }

func newTown(t *testing.T, config map[string]any) *town {
	t.Helper()
	n := &town{world: newWorld(t), key: "key", cut: map[string]bool{}, folders: map[string]string{}}
	settings := map[string]any{"image": "pytorch/pytorch", "gpu": []string{"RTX 4090"}, "max_usd_per_hour": 0.6, "reliability": 0.95, "disk": 20e9}
	for k, v := range config {
		settings[k] = v
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	n.backend = providers.Backend{Name: "vastai.cloud", Type: "vastai", Workdir: filepath.Join(t.TempDir(), "work"), Lineage: "abc", Dir: t.TempDir(), Config: text, Hold: 10 * time.Minute, OnHold: "keep"}
	n.traces = t.TempDir()
	n.begin()
	return n
}

// begin is a new process of the provider.
func (n *town) begin() {
	n.Helper()
	if n.provider != nil {
		n.provider.Close()
	}
	n.provider = n.another()
}

// another is a process of the provider beside the one that there is.
func (n *town) another() *rental.Provider {
	n.Helper()
	p := rental.Platform(platform{world: n.world, key: n.key})
	if n.cloudOf != nil {
		p = n.cloudOf(p.(platform))
	}
	made := rental.NewWith(p, n, n.now, 20*time.Millisecond)
	made.Traces = n.traces
	if err := made.Configure(n.Context(), n.backend); err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { made.Close(); n.provider.Close() }) // a test may have put another in its place
	return made
}

func (n *town) Key(string) (string, error) {
	return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJeBdpr7+BPfwQ4lTPgp+HJbb60v13NhUVdI/HePoSS7 test", nil
}

func (n *town) Able() error { return n.unable }

// Dial is a queue in a folder of the machine.
func (n *town) Dial(b providers.Backend, m rental.Machine, _ string) (rental.Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	dir := n.folders[m.ID]
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp(machines, ""); err != nil {
			return nil, err
		}
		n.folders[m.ID] = dir
		n.Cleanup(func() { hosttest.Kill(n.T, filepath.Join(dir, "s")); os.RemoveAll(dir) })
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := local.NewWith(host.Options{Spool: filepath.Join(dir, "s"), Command: []string{self}, Env: []string{beQueue + "=1"}, Idle: time.Minute})
	b.Type, b.Config = "local", json.RawMessage("{}")
	if err := l.Configure(n.Context(), b); err != nil {
		return nil, err
	}
	f := &folder{Local: l, town: n, id: m.ID}
	if n.hostOf != nil {
		return n.hostOf(f), nil
	}
	return f, nil
}

// A folder is a machine that is a folder.
type folder struct {
	*local.Local
	*town
	id string
}

func (f *folder) away() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut[f.id] {
		return providers.Errorf(providers.Unreachable, "machine %s does not answer", f.id)
	}
	return nil
}

func (f *folder) Run(_ context.Context, command string) (string, int, error) {
	if command == cannotProve {
		return "", 22, f.away()
	}
	if f.says != nil {
		return f.says(f.id), 0, f.away()
	}
	return report("gpu NVIDIA GeForce RTX 4090, 24564, 570.124.06"), 0, f.away()
}

func (f *folder) Close() error { return f.Local.Close() }

// Watch ends where the machine is cut off: nothing more is heard of it.
func (f *folder) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return f.Local.Watch(ctx, r, func(b providers.Batch) error {
		if err := f.away(); err != nil {
			return err
		}
		return fn(b)
	})
}

func (f *folder) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.Local.Pull(ctx, name, path, offset, w)
}

func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// job writes a JSON file.
func (n *town) job(name, command string) providers.Job {
	return providers.Job{Token: token(), Address: "phase." + name, Phase: name, Name: name, Attempt: 1, Pool: "1x RTX 4090", Workdir: n.backend.Workdir, Dir: n.backend.Workdir, Shell: command,
		Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Minute}, Outputs: []providers.Output{{Name: "result", Kind: "path", Path: name + ".json"}}, ResultHash: name}
}

func (n *town) submit(jobs ...providers.Job) {
	n.Helper()
	out, err := n.provider.Submit(n.Context(), providers.SubmitRequest{Backend: n.backend.Name, Fence: 1, Batch: jobs[0].Token, Jobs: jobs})
	if err != nil {
		n.Fatal(err)
	}
	for _, s := range out {
		if s.Err != nil {
			n.Fatal(s.Err)
		}
	}
}

// until watches until the jobs are as a test wants them.
func (n *town) until(what string, done func(map[string]offer.Observation) bool) map[string]offer.Observation {
	n.Helper()
	seen := map[string]offer.Observation{}
	err := n.listen(func(b providers.Batch) bool {
		for _, o := range b.Events {
			seen[o.Token] = o
		}
		return done(seen)
	})
	if err != nil {
		n.Fatalf("%s: %v; seen %+v", what, err, seen)
	}
	return seen
}

// listen watches until a batch is the last that a test wants.
func (n *town) listen(last func(providers.Batch) bool) error {
	ctx, stop := context.WithTimeout(n.Context(), 5*time.Minute)
	defer stop()
	over := errors.New("over")
	err := n.provider.Watch(ctx, providers.WatchRequest{Backend: n.backend.Name}, func(b providers.Batch) error {
		if last(b) {
			return over
		}
		return nil
	})
	if errors.Is(err, over) {
		return nil
	}
	return err
}

func all(status offer.Status, jobs ...providers.Job) func(map[string]offer.Observation) bool {
	return func(seen map[string]offer.Observation) bool {
		return !slices.ContainsFunc(jobs, func(j providers.Job) bool { return seen[j.Token].Status != status })
	}
}

// alive are the machines that are billed.
func (n *town) alive() (ids []int) {
	for _, a := range n.truth() {
		if !a.Gone {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// TestOneJobAtATimeOnAMachine: jobs of a machine with one GPU run one after another, and
// not side by side, though there are cores for both.
func TestOneJobAtATimeOnAMachine(t *testing.T) {
	// Requirement: WAV-05
	t.Parallel()
	n := newTown(t, nil)
	command := func(name string) string {
		return "mkdir busy && sleep 0.3 && rmdir busy && echo '{}' > " + name + ".json"
	}
	a, b, c := n.job("a", command("a")), n.job("b", command("b")), n.job("c", command("c"))
	n.submit(a, b, c)
	n.until("all to be done", all(offer.Completed, a, b, c))
	if got := len(n.truth()); got != 1 {
		t.Errorf("%d machines were rented", got)
	}
}

func TestAJobRunsOnARentedMachine(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	a, b := n.job("a", "echo '{}' > a.json; echo hello"), n.job("b", "echo '{\"x\": 1}' > b.json")
	n.submit(a, b)
	followed := make(chan string, 1)
	go func() { // from before there is a machine
		var log bytes.Buffer
		err := n.provider.Logs(t.Context(), providers.LogRequest{Backend: n.backend.Name, Token: a.Token, Follow: true}, &log)
		followed <- fmt.Sprint(strings.TrimSpace(log.String()), err)
	}()
	seen := n.until("both to be done", all(offer.Completed, a, b))
	if got := <-followed; got != "hello<nil>" {
		t.Errorf("the followed log is %q", got)
	}
	if r := seen[a.Token].Rental; r == nil || r.Kind != "1x RTX 4090" || r.Status != offer.RentalRunning {
		t.Errorf("the rental is %+v", r)
	}
	if got := n.alive(); len(got) != 1 {
		t.Errorf("machines %v: both jobs share one", got)
	}
	var file, log bytes.Buffer
	if err := n.provider.Pull(t.Context(), n.backend.Name, filepath.Join(n.backend.Workdir, "b.json"), 0, &file); err != nil || file.String() != "{\"x\": 1}\n" {
		t.Errorf("the result is %q, %v", file.String(), err)
	}
	out, err := n.provider.Release(t.Context(), n.backend.Name, []string{seen[a.Token].Rental.ID})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	if got := n.alive(); len(got) != 0 {
		t.Errorf("machines %v after the release", got)
	}
	// The machine is gone; its results and logs are not.
	n.begin()
	if got, err := n.provider.Find(t.Context(), n.backend.Name, []string{a.Token, token()}); err != nil || got[0].Status != offer.Completed || got[1].Presence != offer.Absent {
		t.Errorf("found %+v, %v", got, err)
	}
	if err := n.provider.Logs(t.Context(), providers.LogRequest{Backend: n.backend.Name, Token: a.Token}, &log); err != nil || strings.TrimSpace(log.String()) != "hello" {
		t.Errorf("the log is %q, %v", log.String(), err)
	}
}

// While an apply leads the machines, another process shows and follows the log of a job there.
func TestLogsBesideAnApply(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("slow", "echo hello; while [ ! -e go ]; do sleep 0.1; done; echo '{}' > slow.json; echo bye")
	n.submit(j)
	n.until("it to run", all(offer.Running, j))
	beside := n.another()
	logs := func(follow bool) string {
		var log bytes.Buffer
		err := beside.Logs(t.Context(), providers.LogRequest{Backend: n.backend.Name, Token: j.Token, Follow: follow}, &log)
		return fmt.Sprint(strings.Fields(log.String()), err)
	}
	for said := ""; said != "[hello] <nil>"; said = logs(false) {
		if said != "" && said != "[] <nil>" {
			t.Fatalf("the log is %s", said)
		}
		time.Sleep(10 * time.Millisecond)
	}
	followed := make(chan string, 1)
	go func() { followed <- logs(true) }()
	if err := os.WriteFile(filepath.Join(n.backend.Workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.until("it to be done", all(offer.Completed, j))
	if got := <-followed; got != "[hello bye] <nil>" {
		t.Errorf("the followed log is %s", got)
	}
}

// A machine with work on it is not given up, whoever asks.
func TestAReleaseWaitsForResults(t *testing.T) {
	// Requirement: TDN-01
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("slow", "while [ ! -e go ]; do sleep 0.1; done; echo '{}' > slow.json")
	n.submit(j)
	seen := n.until("it to run", all(offer.Running, j))
	id := seen[j.Token].Rental.ID
	out, err := n.provider.Release(t.Context(), n.backend.Name, []string{id})
	if err != nil || out[0].Err == nil || out[0].Err.Class != providers.Conflict || len(n.alive()) != 1 {
		t.Fatalf("release: %+v, %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(n.backend.Workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.until("it to be done", all(offer.Completed, j))
}

// A provider that is killed while a job waits or runs finds both again.
func TestAProviderBeginsAgain(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json; echo ran >> count")
	n.submit(j)
	n.begin()
	n.until("it to be done", all(offer.Completed, j))
	n.begin()
	n.until("it to be still done", all(offer.Completed, j))
	if got := n.alive(); len(got) != 1 {
		t.Errorf("machines %v: one was wanted", got)
	}
	if text, _ := os.ReadFile(filepath.Join(n.backend.Workdir, "count")); string(text) != "ran\n" {
		t.Errorf("it ran %q", text)
	}
}

// One process works with the machines; another reads.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	other := rental.NewWith(platform{world: n.world, key: "key"}, n, n.now, 20*time.Millisecond)
	defer other.Close()
	if err := other.Configure(t.Context(), n.backend); err != nil {
		t.Fatal(err)
	}
	_, err := other.Submit(t.Context(), providers.SubmitRequest{Backend: n.backend.Name, Fence: 1, Jobs: []providers.Job{n.job("b", "true")}})
	var e *providers.Error
	if !errors.As(err, &e) || e.Class != providers.Unreachable || !strings.Contains(e.Summary, "Another muster") {
		t.Errorf("two lead: %v", err)
	}
	if got, err := other.Find(t.Context(), n.backend.Name, []string{j.Token}); err != nil || got[0].Presence != offer.Found {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestPoolsAndQuotes(t *testing.T) {
	t.Parallel()
	n := newTown(t, map[string]any{"gpu": []string{"RTX 4090", "RTX 5090"}, "max_usd_per_hour": 0.7})
	pools, err := n.provider.Pools(t.Context(), n.backend.Name)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pools {
		names = append(names, p.Name+" "+p.Price.USDPerHour)
		if p.Price.Spare != 3*(2*15*time.Minute+3*time.Minute)-3*time.Minute { // three machines, each late twice, and slow to end
			t.Errorf("at most %s beside the boot", p.Price.Spare)
		}
		if p.Kind != offer.RentalPool || p.Balance != "25.00" || len(p.Offers) == 0 || p.Offers[0].USDPerHour != p.Price.USDPerHour || !strings.HasPrefix(p.Offers[0].Text, "reliability 9") || !strings.HasSuffix(p.Offers[0].Text, ", the cheapest that fits") {
			t.Errorf("pool %+v", p)
		}
	}
	if got := strings.Join(names, ", "); got != "1x RTX 4090 0.3441095890410959, 1x RTX 5090 0.6132876712328768" {
		t.Errorf("pools are %s", got)
	}
	quotes, err := n.provider.Quote(t.Context(), n.backend.Name, []offer.Shape{{CPUs: 1, Nodes: 1, GPUs: 1}, {CPUs: 1, Nodes: 1, GPUs: 2}, {CPUs: 1, Nodes: 1, GPUs: 1, GPU: offer.GPU{Models: []string{"RTX 5090"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var fits []string
	for _, q := range quotes {
		if q.Fits {
			fits = append(fits, q.Pool)
		}
	}
	if got := strings.Join(fits, ", "); got != "1x RTX 4090, 1x RTX 5090, 1x RTX 5090" {
		t.Errorf("fits on %s", got)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for want, config := range map[string]map[string]any{
		"max_usd_per_hour":       {"max_usd_per_hour": 0},
		"image is empty":         {"image": ""},
		"between 0.95 and 1":     {"reliability": 0.9},
		"spot needs a bid":       {"spot": true},
		"bid is set without":     {"bid": 0.1},
		"max_usd_per_hour is $0": {"spot": true, "bid": 0.9},
		"at least 8GB":           {"disk": 1e9},
	} {
		settings := map[string]any{"image": "i", "max_usd_per_hour": 0.5}
		for k, v := range config {
			settings[k] = v
		}
		text, _ := json.Marshal(settings)
		p := rental.New(platform{})
		if err := p.Configure(t.Context(), providers.Backend{Name: "vastai.c", Workdir: "/w", Config: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", config, err, want)
		}
	}
}

// What is pushed for jobs reaches each machine, a packed folder, too.
func TestFilesReachEachMachine(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	work := n.backend.Workdir
	var packed bytes.Buffer
	text := "echo '{}'\n"
	if err := tree.Pack(&packed, []tree.Entry{{Path: "run.sh", Exec: true, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}}); err != nil {
		t.Fatal(err)
	}
	code := filepath.Join(work, ".muster/source/d1")
	if err := n.provider.Push(t.Context(), n.backend.Name, code+tree.Suffix, int64(packed.Len()), "", bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		j := n.job(name, "sh ./run.sh > "+filepath.Join(work, name+".json"))
		j.Dir = code
		n.submit(j)
		seen := n.until("it to be done", all(offer.Completed, j))
		if len(n.truth()) != i+1 {
			t.Errorf("job %s did not run on a machine of its own", name)
		}
		out, err := n.provider.Release(t.Context(), n.backend.Name, []string{seen[j.Token].Rental.ID})
		if err != nil || out[0].Err != nil {
			t.Fatal(out, err)
		}
		if err := tree.Remove(code); err != nil { // another machine has nothing
			t.Fatal(err)
		}
	}
}
