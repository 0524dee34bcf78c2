package local

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/offer"
)

// The test binary stands in for muster: started again with this variable it
// is `muster provider queue`.
const beQueue = "MUSTER_TEST_QUEUE"

func TestMain(m *testing.M) {
	if os.Getenv(beQueue) != "" {
		os.Exit(host.Main(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

func configured(t *testing.T, b providers.Backend) *Local {
	t.Helper()
	dir, err := os.MkdirTemp("", "ml") // sockets want short paths
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := NewWith(host.Options{Spool: filepath.Join(dir, "s"), Command: []string{self}, Env: []string{beQueue + "=1"}, Idle: 100 * time.Millisecond})
	b.Name, b.Type, b.Lineage, b.Dir = "local.local", "local", "lin", dir
	if err := l.Configure(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		for range 6000 { // the queue ends by itself
			if busy, err := host.NewClient(host.Options{Spool: filepath.Join(dir, "s")}).Running(); err != nil || !busy {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		os.RemoveAll(dir)
	})
	return l
}

func TestJobStartsFromTheEnvironmentOfApply(t *testing.T) {
	t.Parallel()
	l := configured(t, providers.Backend{Environ: []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}, {Name: "CONDA_PREFIX", Value: "/opt/c"}}})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	j := providers.Job{Token: rand.Text(), Phase: "p", Shell: "env > out", Shape: offer.Shape{CPUs: 1},
		Outputs: []providers.Output{{Name: "out", Kind: "path", Path: "out"}}}
	res, err := l.Submit(ctx, providers.SubmitRequest{Backend: "local.local", Fence: 1, Jobs: []providers.Job{j}})
	if err != nil || res[0].Err != nil {
		t.Fatal(res, err)
	}
	done := errors.New("done")
	err = l.Watch(ctx, providers.WatchRequest{Backend: "local.local"}, func(b providers.Batch) error {
		for _, o := range b.Events {
			if o.Status == offer.Completed {
				return done
			}
			if o.Status == offer.Failed {
				t.Fatalf("%+v", o)
			}
		}
		return nil
	})
	if err != done {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(l.backends["local.local"].Workdir, "out"))
	if err != nil || !strings.Contains(string(b), "CONDA_PREFIX=/opt/c\n") || strings.Contains(string(b), beQueue) || strings.Contains(string(b), "HOME=") {
		t.Errorf("%s %v", b, err)
	}
}

func TestPoolsAndQuotesStartNothing(t *testing.T) {
	t.Parallel()
	cfg, _ := json.Marshal(map[string]any{"cpus": 3, "memory": 1 << 30})
	l := configured(t, providers.Backend{Config: cfg, MaxParallel: 2})
	ctx := context.Background()
	pools, err := l.Pools(ctx, "local.local")
	if err != nil || len(pools) != 1 {
		t.Fatal(pools, err)
	}
	if p := pools[0]; p.CPUs != 3 || p.Memory != 1<<30 || p.Word != "machine" || p.MaxJobs != 2 || !p.Price.Known || p.Idle != 3 {
		t.Errorf("%+v", p)
	}
	quotes, err := l.Quote(ctx, "local.local", []offer.Shape{{CPUs: 3, Nodes: 1}, {CPUs: 4, Nodes: 1}, {CPUs: 1, GPUs: 99}, {CPUs: 1, Memory: 2 << 30}, {CPUs: 1, Nodes: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range quotes {
		if q.Fits != (i == 0) || (q.Why == "") != q.Fits || !q.Price.Known || q.Price.USDPerHour != "" {
			t.Errorf("%+v", q)
		}
	}
	if _, err := os.Stat(filepath.Join(l.queue.Spool, "lock")); err == nil {
		t.Error("a queue was started")
	}
}

func TestConfigureRefuses(t *testing.T) {
	t.Parallel()
	for _, cfg := range []string{`{"cpus": -1}`, `{"slots": -2}`, `{"memory": -1}`, `{"gpus": "all"}`} {
		if err := NewWith(host.Options{}).Configure(context.Background(), providers.Backend{Name: "x", Dir: "/", Config: []byte(cfg)}); err == nil {
			t.Errorf("%s was taken", cfg)
		}
	}
}

func TestJobEnviron(t *testing.T) {
	t.Parallel()
	got := providers.JobEnviron([]string{"PATH=/bin", "SECRET=x", "LC_ALL=C", "CONDA_PREFIX=/c", "VIRTUAL_ENV=/v", "HOME=/h", "PYTHONPATH=/p"})
	var names []string
	for _, v := range got {
		names = append(names, v.Name)
	}
	if s := strings.Join(names, " "); s != "CONDA_PREFIX HOME LC_ALL PATH VIRTUAL_ENV" {
		t.Error(s)
	}
}
