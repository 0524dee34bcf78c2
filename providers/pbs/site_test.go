package pbs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// polaris is a backend of the profile that nobody can ask.
func polaris(t *testing.T, config string) *Site {
	t.Helper()
	s, err := Type{}.Open(scheduler.Opening{Backend: providers.Backend{Name: "pbs.polaris", Profile: "alcf-polaris", Config: json.RawMessage(config)}})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Site)
}

const ours = `{"account": "bio", "filesystems": "home:eagle"}`

// TestKnownQuotes: node floors and ceilings, and directives that the site requires,
// are told while the cluster is away.
func TestKnownQuotes(t *testing.T) {
	t.Parallel()
	// Requirement: DT-14
	// Requirement: SUB-11
	a100 := offer.GPU{Models: []string{"A100"}}
	for name, tt := range map[string]struct {
		config string
		shape  offer.Shape
		fits   string
		why    map[string]string // of some queues
	}{
		"one node of an ensemble": {ours, offer.Shape{CPUs: 32, GPUs: 4, GPU: a100, Nodes: 1, Walltime: 3 * time.Hour}, "preemptable capacity",
			map[string]string{"prod": "queue prod takes jobs of 10 nodes or more, but the job requests 1", "debug": "queue debug is for tests only", "demand": "queue demand is opened by the site"}},
		"five nodes":            {ours, offer.Shape{Nodes: 5, GPUs: 20, Walltime: 3 * time.Hour}, "preemptable", map[string]string{"capacity": "queue capacity gives a job 4 nodes at most, but the job requests 5"}},
		"forty nodes":           {ours, offer.Shape{Nodes: 40, GPUs: 160, Walltime: 3 * time.Hour}, "prod", nil},
		"a smoke":               {ours, offer.Shape{Nodes: 1, GPUs: 1, Walltime: 10 * time.Minute, Smoke: true}, "debug debug-scaling preemptable capacity", nil},
		"a minute":              {ours, offer.Shape{Nodes: 1, Walltime: time.Minute}, "", map[string]string{"capacity": "queue capacity takes walltimes of 5m or more, but the job requests 1m"}},
		"too many GPUs":         {ours, offer.Shape{Nodes: 1, GPUs: 5, Walltime: time.Hour}, "", map[string]string{"capacity": "a node of queue capacity has 4 GPUs, but the job requests 5"}},
		"no account":            {`{"filesystems": "home:eagle"}`, offer.Shape{Nodes: 1, Walltime: time.Hour}, "", map[string]string{"capacity": "ALCF Polaris requires the project of every job (qsub -A)"}},
		"no filesystems":        {`{"account": "bio"}`, offer.Shape{Nodes: 1, Walltime: time.Hour}, "", map[string]string{"prod": "ALCF Polaris requires the filesystems of every job (qsub -l filesystems)"}},
		"filesystems of a job":  {`{"account": "bio"}`, offer.Shape{Nodes: 1, Walltime: 2 * time.Hour, Options: `{"filesystems": "home"}`}, "preemptable capacity", nil},
		"nodes in the options":  {ours, offer.Shape{Walltime: 2 * time.Hour, Options: `{"pbs": {"nodes": 12}}`}, "prod", nil},
		"a queue of its choice": {ours, offer.Shape{Nodes: 1, Walltime: 30 * time.Minute, Options: `{"queue": "debug"}`}, "debug", map[string]string{"prod": `options "pbs" name queue debug`}},
		"a line of its own":     {ours, offer.Shape{Nodes: 1, Walltime: time.Hour, Options: `{"queue": "debug\n#PBS -q prod"}`}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quotes, err := polaris(t, tt.config).KnownQuotes([]offer.Shape{tt.shape})
			if err != nil {
				t.Fatal(err)
			}
			var fits []string
			for _, q := range quotes {
				if q.Fits {
					fits = append(fits, q.Pool)
				}
				if want, ok := tt.why[q.Pool]; ok && !strings.HasPrefix(q.Why, want) {
					t.Errorf("%s: %q, not %q", q.Pool, q.Why, want)
				}
				if q.Fits != (q.Why == "") || q.Price.SUPerNodeHour != "1" {
					t.Errorf("%+v", q)
				}
			}
			if got := strings.Join(fits, " "); got != tt.fits {
				t.Errorf("it fits %q, not %q", got, tt.fits)
			}
		})
	}
}

// request is a script of some jobs.
func request(pool string, s offer.Shape, jobs int) scheduler.Request {
	r := scheduler.Request{Name: "md.0123.0", Pool: pool, Array: jobs > 1, Count: jobs, Dir: "/eagle/bio/c/.muster/pbs/ID/batches/md.0123.0", Spool: "/eagle/bio/c/.muster/pbs/ID",
		Agent: []string{"/eagle/bio/c/.muster/bin/muster", "provider", "node"}, Job: &providers.Job{Phase: "md"}}
	r.Job.Shape = s
	for i := range jobs {
		r.Indexes = append(r.Indexes, i)
	}
	return r
}

// TestPolarisScript holds the script that a person would have written.
func TestPolarisScript(t *testing.T) {
	// Requirement: NET-02
	t.Parallel()
	r := request("preemptable", offer.Shape{CPUs: 32, GPUs: 4, Nodes: 1, Memory: 64 << 30, Walltime: 3 * time.Hour}, 5)
	r.Cap, r.Depend = 2, []scheduler.Dependency{{Kind: scheduler.AfterAny, ID: "7[].polaris-pbs-01"}}
	got, err := polaris(t, ours).Script(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `#!/bin/bash
#PBS -N md.0123.0
#PBS -A bio
#PBS -q preemptable
#PBS -J 0-4%2
#PBS -l select=1:system=polaris
#PBS -l place=scatter
#PBS -l walltime=03:00:00
#PBS -l filesystems=home:eagle
#PBS -W depend=afterany:7[].polaris-pbs-01
#PBS -r y
#PBS -j oe
#PBS -k doe
#PBS -o /eagle/bio/c/.muster/pbs/ID/out/
#PBS -m n

export http_proxy=http://proxy.alcf.anl.gov:3128
export https_proxy=http://proxy.alcf.anl.gov:3128

# 5 jobs of phase.md. Their commands are in the file jobs beside this one, one a line.
# The program below claims the job, so that it never runs twice, runs its command
# with its output in .muster/logs, and checks what it left before PBS is told.
exec /eagle/bio/c/.muster/bin/muster provider node -batch /eagle/bio/c/.muster/pbs/ID/batches/md.0123.0
`
	if got != want {
		t.Errorf("%s", got)
	}
}

// TestScript: sites that share nodes are told what of them a job needs; a job that
// may not run again says so, and no value leaves its line.
func TestScript(t *testing.T) {
	t.Parallel()
	shared, err := Type{}.Open(scheduler.Opening{Backend: providers.Backend{Name: "pbs.lab"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(r scheduler.Request) string {
		text, err := shared.Script(r)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	one := request("workq", offer.Shape{CPUs: 8, GPUs: 2, Nodes: 2, Memory: 3 << 30, Walltime: 90 * time.Second}, 1)
	text := lines(one)
	for _, want := range []string{"#PBS -l select=2:ncpus=4:ngpus=1:mem=1536mb\n", "#PBS -l walltime=00:01:30\n", "#PBS -r n\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "-J") || strings.Contains(text, "-A") {
		t.Error(text)
	}
	if one.Job.Retry.Max = 2; !strings.Contains(lines(one), "#PBS -r y\n") {
		t.Error("what may be retried may not be put back")
	}
	one.Job.Options = json.RawMessage(`{"place": "scatter:excl", "chunk": "cputype=rome", "resources": ["software=1"], "mail": "me@example.edu"}`)
	text = lines(one)
	for _, want := range []string{":cputype=rome\n", "#PBS -l place=scatter:excl\n", "#PBS -l software=1\n", "#PBS -M me@example.edu\n#PBS -m ae\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, options := range []string{`{"mail": "a b"}`, `{"place": "x\n#PBS -q y"}`, `{"resources": ["walltime=9"]}`, `{"resources": ["x"]}`, `{"nodes": 0}`, `{"nodes": "2"}`} {
		one.Job.Options = json.RawMessage(options)
		if _, err := shared.Script(one); err == nil || shared.Check(one.Job) == nil {
			t.Errorf("%s is taken", options)
		}
	}
}

// TestNoNodeIsUp: a queue whose nodes are all down says so, since its jobs wait for nothing else.
func TestNoNodeIsUp(t *testing.T) {
	t.Parallel()
	for up, want := range map[int]string{0: "no node is up, of 2 (`pbsnodes -l` lists them)", 1: ""} {
		f := &cluster.Facts{Nodes: []cluster.Vnode{{Name: "n1", CPUs: 4, Up: up > 0, Free: up > 0}, {Name: "n2", CPUs: 4}}}
		var p offer.Pool
		(&Site{}).nodes(f, cluster.Queue{Name: "workq"}, &p)
		if got := strings.Join(p.Notes, "; "); got != want || p.Idle != 4*up || p.Total != 8 {
			t.Errorf("%d up: %q, %d of %d idle", up, got, p.Idle, p.Total)
		}
	}
}
