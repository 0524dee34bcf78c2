package slurm

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestScript(t *testing.T) {
	// Requirement: WT-09
	t.Parallel()
	j := providers.Job{Token: "t", Address: "phase.train", Phase: "train", Workdir: "/scratch/me", Setup: []string{"module load cuda"},
		Shape:      offer.Shape{CPUs: 8, Memory: 32 << 30, GPUs: 2, Nodes: 1, Walltime: 26 * time.Hour},
		Options:    json.RawMessage(`{"qos": "long", "constraint": "a100|h100", "mail": "me@x.edu", "exclusive": true, "licenses": "matlab:1", "extra": ["--tmp=20G", "--gpu-bind=closest"]}`),
		Checkpoint: providers.Checkpoint{Path: "ck", Signal: "USR1", Grace: 5 * time.Minute}, Retry: providers.Retry{Max: 3}}
	r := scriptRequest{Request: scheduler.Request{Name: "train.0123.0", Pool: "aa100", Array: true, Cap: 10, Indexes: []int{0, 1, 2, 5}, Dir: "/scratch/me/.muster/slurm/x/batches/train.0123.0", Job: &j, Count: 40, Campaign: "it's", Depend: []scheduler.Dependency{{Kind: scheduler.AfterOK, ID: "7"}, {Kind: scheduler.AfterLike, ID: "8"}}, Spool: "/scratch/me/.muster/slurm/x", Agent: []string{"/scratch/me/.muster/bin/muster-01", "node"}}, Account: "ucb123", QoS: "long", Gres: "gpu:2"}
	got, err := r.text()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "script.golden", got)
}

// TestExtra: what muster sets itself is refused, with what to write instead; what
// else is set otherwise is written once.
func TestExtra(t *testing.T) {
	// Requirement: SUB-07
	t.Parallel()
	for extra, want := range map[string]string{
		`"--array=0-9"`: "--array, which muster sets itself", `"-a 0-9"`: "-a, which muster sets itself", `"--time=400:00:00"`: "use walltime in resources", `"-t", "5"`: "use walltime in resources",
		`"--partition=x"`: `use partition in options "slurm"`, `"-px"`: `use partition in options "slurm"`, `"-A x"`: "use account in the backend block", `"--gres=gpu:1"`: "use gpus in resources",
		`"--gpus=1"`: "use gpus in resources", `"-M other"`: "a backend block for each cluster", `"--clusters=other"`: "a backend block for each cluster",
		`"--exclusive"`: `use exclusive in options "slurm"`, `"--exclusive=user"`: "", `"--gres", "fpga:1,gpu:a100:2"`: "use gpus in resources", `"-N 2"`: "use nodes in resources", `"--time 5"`: "use walltime in resources",
		`"--part=x"`: "--partition, which muster sets itself: use partition", `"--qo x"`: `use qos in options "slurm"`, `"--acc=x"`: "use account in the backend block", `"--exclus"`: "use exclusive",
		`"-Oqx"`: `-q, which muster sets itself: use qos in options "slurm"`, `"-Os"`: "", `"-sOAx"`: "use account in the backend block", `"--export-file=x"`: "", `"--acctg-freq=5"`: "", `"-wq"`: "",
		`"--gres=fpga:1"`: "", `"--gres=gpumem:1"`: "", `"--tmp=20G"`: "", `"--gpu-bind=closest"`: "", `"--mem-per-cpu=2G"`: "", `"--nodelist=a"`: "", `"--time-min=5"`: "", `"--ntasks=4", "-c 2"`: "",
	} {
		j := providers.Job{Phase: "train", Options: json.RawMessage(`{"extra": [` + extra + `]}`), Shape: offer.Shape{CPUs: 8, Memory: 32 << 30, Nodes: 1}}
		text, err := scriptRequest{Request: scheduler.Request{Name: "n", Job: &j, Count: 1, Agent: []string{"a"}}}.text()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", extra, err)
		}
		for option, by := range map[string]string{"--mem=": "--mem-per-cpu", "--ntasks-per-node=": "--ntasks=", "--cpus-per-task=": "-c "} {
			if err == nil && strings.Contains(extra, by) == strings.Contains(text, "#SBATCH "+option) {
				t.Errorf("%s: %s stands beside it, or is left out:\n%s", extra, option, text)
			}
		}
	}
}

// TestShapes: scripts of jobs of many kinds, to be read in testdata/shapes.golden.
func TestShapes(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	job := func(s offer.Shape, options string) providers.Job {
		s.Nodes = max(s.Nodes, 1)
		return providers.Job{Token: "t", Address: "phase.p", Phase: "p", Workdir: "/scratch/me", Shape: s, Options: json.RawMessage(options), Retry: providers.Retry{Max: 1}}
	}
	checkpointed := job(offer.Shape{CPUs: 4, GPUs: 1, Walltime: 24 * time.Hour}, "")
	checkpointed.Checkpoint, checkpointed.Retry = providers.Checkpoint{Path: "ck", Signal: "SIGTERM", Grace: 90 * time.Second}, providers.Retry{Max: 5}
	spaced := job(offer.Shape{CPUs: 1, Walltime: 30 * time.Second}, `{"mail": "me@x.edu"}`)
	spaced.Workdir = "/scratch/my files/50%"
	var all strings.Builder
	for _, c := range []struct {
		what string
		r    scriptRequest
		job  providers.Job
	}{
		{"the least", scriptRequest{}, job(offer.Shape{}, "")},
		{"one job with GPUs by type", scriptRequest{Gres: "gpu:a100:2"}, job(offer.Shape{CPUs: 16, GPUs: 2, Memory: 40 * gib, Walltime: 4 * time.Hour}, "")},
		{"memory that is no whole number of GiB, on three nodes", scriptRequest{}, job(offer.Shape{CPUs: 7, Nodes: 3, Memory: 10*gib + 1}, "")},
		{"a program of many tasks", scriptRequest{}, job(offer.Shape{CPUs: 128, Nodes: 2, Memory: 200 * gib, Walltime: time.Hour}, `{"extra": ["--ntasks-per-node=64", "--hint=nomultithread"]}`)},
		{"tasks with threads, counted in all", scriptRequest{}, job(offer.Shape{CPUs: 64, Nodes: 2}, `{"extra": ["-n 16", "--mem-per-cpu=2G"]}`)},
		{"tasks and threads as the campaign has them", scriptRequest{}, job(offer.Shape{CPUs: 64, Nodes: 2}, `{"extra": ["--ntasks=16", "-c", "4"]}`)},
		{"GPUs beside other resources", scriptRequest{Gres: "gpu:1"}, job(offer.Shape{CPUs: 4, GPUs: 1}, `{"extra": ["--gres fpga:1,nvme:10G", "--nodelist=n[1-2]"]}`)},
		{"other resources alone", scriptRequest{}, job(offer.Shape{CPUs: 4}, `{"extra": ["--gres=nvme:10G", "-w n1"]}`)},
		{"cores by GPU", scriptRequest{Gres: "gpu:4"}, job(offer.Shape{CPUs: 32, GPUs: 4}, `{"extra": ["--cpus-per-gpu=8"]}`)},
		{"nodes of its own", scriptRequest{Account: "a", QoS: "long"}, job(offer.Shape{CPUs: 128, Walltime: 7 * 24 * time.Hour}, `{"nodes": 2, "exclusive": true, "reservation": "class", "licenses": "matlab:2,stata"}`)},
		{"an array, capped, that comes after another", scriptRequest{Request: scheduler.Request{Array: true, Indexes: []int{0, 1, 2, 3, 7}, Count: 5, Cap: 2, Depend: []scheduler.Dependency{{Kind: scheduler.AfterLike, ID: "7"}}, Await: true}}, job(offer.Shape{CPUs: 1, Walltime: time.Hour}, "")},
		{"an array of which all may run", scriptRequest{Request: scheduler.Request{Array: true, Indexes: []int{0, 1}, Count: 2, Cap: 2}}, job(offer.Shape{CPUs: 1, Walltime: time.Hour}, "")},
		{"chained by a checkpoint", scriptRequest{Gres: "gpu:1"}, checkpointed},
		{"a folder with a space and a percent sign", scriptRequest{Request: scheduler.Request{Array: true, Indexes: []int{0, 1}, Count: 2}}, spaced},
		{"nodes of two processors", scriptRequest{Request: scheduler.Request{Others: map[string][]string{"aarch64": {"/scratch/me/.muster/bin/muster-arm64", "node"}}}}, job(offer.Shape{CPUs: 1}, "")},
		{"a choice of features", scriptRequest{}, job(offer.Shape{CPUs: 1}, `{"constraint": "[rack1|rack2]&ib", "partition": "x"}`)},
	} {
		c.r.Name, c.r.Pool, c.r.Campaign, c.r.Job, c.r.Count = "p.01.0", "amilan", "c", &c.job, max(c.r.Count, 1)
		c.r.Spool = c.job.Workdir + "/.muster/slurm/x"
		c.r.Dir, c.r.Agent = c.r.Spool+"/batches/p.01.0", []string{c.job.Workdir + "/.muster/bin/muster", "node"}
		text, err := c.r.text()
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		all.WriteString("==== " + c.what + "\n" + text + "\n")
	}
	compare(t, "shapes.golden", all.String())
}

// compare holds a text against a file, or writes it with -update.
func compare(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestScriptIsShell: what is written is for bash to run, and srun is told how many
// cores a task has only where Slurm says so.
func TestScriptIsShell(t *testing.T) {
	t.Parallel()
	bash := needs.Program(t, "bash")
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent of 'mine' $x")
	program.Write(t, agent, "#!/bin/sh\necho \"cores:${SRUN_CPUS_PER_TASK-none} $*\"\n")
	j := providers.Job{Phase: "p", Workdir: dir, Shape: offer.Shape{CPUs: 4, Nodes: 1}}
	text, err := scriptRequest{Request: scheduler.Request{Name: "n", Job: &j, Count: 1, Agent: []string{agent, "node"}, Dir: "a b"}}.text()
	if err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{"SLURM_CPUS_PER_TASK=4": "cores:4 node -batch a b\n", "SLURM_CPUS_PER_TASK=": "cores:none node -batch a b\n", "X=": "cores:none node -batch a b\n"} {
		c := exec.Command(bash, "-s")
		c.Env, c.Stdin = []string{"PATH=" + os.Getenv("PATH"), env}, strings.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", env, out, err)
		}
	}
}
