package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state/store/file"
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

// A machine is this one: the real store, the real queue, real jobs.
type machine struct {
	t   testing.TB
	dir string
	p   *local.Local
}

func newMachine(t testing.TB, hcl string) *machine {
	t.Helper()
	dir := t.TempDir()
	spool, err := os.MkdirTemp("", "q") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(spool) })
	m := &machine{t: t, dir: dir}
	m.p = local.NewWith(host.Options{Spool: spool, Command: []string{os.Args[0]}, Env: []string{beQueue + "=1"}, Idle: 200 * time.Millisecond})
	t.Cleanup(func() { m.p.Close() })
	if err := os.WriteFile(filepath.Join(dir, "c.muster.hcl"), []byte("campaign \"c\" {}\n"+hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) apply(ctx context.Context, edit func(*Config)) (progress.Outcome, time.Duration) {
	m.t.Helper()
	c, diags := lang.Load(lang.LoadOptions{Dir: m.dir, Schemas: map[string]offer.Schema{"local": local.Schema()}})
	if diags.HasErrors() {
		m.t.Fatal(diags.Err())
	}
	st, err := file.Open(filepath.Join(m.dir, "muster.state.json"), file.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	s, err := st.Acquire(ctx, "test", 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close(ctx)
	provider := func(string) (providers.Provider, error) { return m.p, nil }
	r := refresh.Observe(ctx, refresh.Input{Campaign: c, State: s.State(), Provider: provider, Now: time.Now(), Refresh: true, Preflight: true,
		Cache: filepath.Join(m.dir, ".muster", "cache")})
	plan, diags := planner.Make(planner.Input{Campaign: c, State: s.State(), Observed: r.Observed, Pools: r.Pools, Quotes: r.Quotes, Can: r.Can, Now: time.Now()})
	if diags.HasErrors() {
		m.t.Fatal(diags.Err())
	}
	conf := Config{Plan: plan, Campaign: c, Session: s, Provider: provider, Who: "ada",
		Progress: func(p progress.Snapshot) {
			if p.Note != "" {
				m.t.Log(p.Note)
			}
		}}
	if edit != nil {
		edit(&conf)
	}
	began := time.Now()
	o, err := Run(ctx, conf)
	if err != nil {
		m.t.Fatal(err)
	}
	return o, time.Since(began)
}

const realChain = `
source {
  include = ["*.sh"]
}
phase "a" {
  grid { axes = { n = [1, 2, 3, 4] } }
  job {
    command = "sh ./make.sh ${cell.n} > ${output.o}"
    output "o" {
      path   = "out/a${cell.n}.json"
      verify = "json"
    }
    metric "v" {
      output = "o"
      json   = "/v"
    }
  }
  smoke {
    cells = "first"
    expect {
      condition = metric.v > 0
      message   = "v must be positive"
    }
  }
}
phase "sum" {
  job {
    command = "cat $(cat ${input_file.all}) > ${output.o}"
    input "all" { from_all = phase.a.output.o }
    output "o" {
      path   = "out/sum.txt"
      verify = "nonempty"
    }
  }
}
result "best" { value = max(values(phase.a.metric.v)...) }
`

func TestRealJobsOnThisMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	m := newMachine(t, realChain)
	if err := os.WriteFile(filepath.Join(m.dir, "make.sh"), []byte("echo \"{\\\"v\\\": $1}\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o, _ := m.apply(t.Context(), nil)
	if o.Done != 5 || o.Stopped != progress.None {
		t.Fatalf("outcome %+v", o)
	}
	if len(o.Results) != 1 || o.Results[0].JSON != "4" {
		t.Errorf("results %+v", o.Results)
	}
	b, err := os.ReadFile(filepath.Join(m.dir, "out/sum.txt"))
	if err != nil || string(b) != "{\"v\": 1}\n{\"v\": 2}\n{\"v\": 3}\n{\"v\": 4}\n" {
		t.Errorf("sum %q %v", b, err)
	}
	if o, _ = m.apply(t.Context(), nil); o.Submitted != 0 || o.Done != 5 {
		t.Errorf("a second apply: %+v", o)
	}
}

// BenchmarkLocal runs no-op jobs through the local backend, journalled
// durably, their outputs checked.
func BenchmarkLocal(b *testing.B) {
	const n = 2000
	for b.Loop() {
		b.StopTimer()
		m := newMachine(b, fmt.Sprintf(`
phase "a" {
  grid { axes = { n = range(%d) } }
  job {
    command = ["/bin/sh", "-c", "echo ${cell.n} > ${output.o}"]
    output "o" { path = "out/a${cell.n}" }
  }
}`, n))
		b.StartTimer()
		before := cpu(b)
		o, d := m.apply(b.Context(), nil)
		b.ReportMetric(float64((cpu(b)-before).Microseconds())/n, "own-cpu-µs/job")
		if o.Done != n {
			b.Fatalf("%+v", o)
		}
		b.ReportMetric(n/d.Seconds(), "jobs/s")
	}
}

// cpu is the time that this process alone has used.
func cpu(b *testing.B) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
