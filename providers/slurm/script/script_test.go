package script

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestScript(t *testing.T) {
	t.Parallel()
	j := providers.Job{Token: "t", Address: "phase.train", Phase: "train", Workdir: "/scratch/me", Setup: []string{"module load cuda"},
		Shape:      offer.Shape{CPUs: 8, Memory: 32 << 30, GPUs: 2, Nodes: 1, Walltime: 26 * time.Hour},
		Options:    json.RawMessage(`{"qos": "long", "constraint": "a100|h100", "mail": "me@x.edu", "exclusive": true, "licenses": "matlab:1", "extra": ["--tmp=20G", "--gpu-bind=closest"]}`),
		Checkpoint: providers.Checkpoint{Path: "ck", Signal: "USR1", Grace: 5 * time.Minute}, Retry: providers.Retry{Max: 3}}
	r := Request{Name: "train.0123.0", Pool: "aa100", Array: true, Cap: 10, Indexes: []int{0, 1, 2, 5}, Dir: "/scratch/me/.muster/slurm/x/batches/train.0123.0",
		Job: &j, Count: 40, Campaign: "it's", Account: "ucb123", QoS: "long", Gres: "gpu:2", Depend: []string{"afterok:7", "aftercorr:8"}, Spool: "/scratch/me/.muster/slurm/x",
		Agent: []string{"/scratch/me/.muster/bin/muster-01", "node"}}
	got, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "script.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestExtra: what muster sets itself is refused, with what to write instead; what
// else is set otherwise is written once.
func TestExtra(t *testing.T) {
	t.Parallel()
	for extra, want := range map[string]string{
		`"--array=0-9"`: "--array, which muster sets itself", `"-a 0-9"`: "-a, which muster sets itself", `"--time=400:00:00"`: "use walltime in resources", `"-t", "5"`: "use walltime in resources",
		`"--partition=x"`: `use partition in options "slurm"`, `"-px"`: `use partition in options "slurm"`, `"-A x"`: "use account in the backend block", `"--gres=gpu:1"`: "use gpus in resources",
		`"--gpus=1"`: "use gpus in resources", `"-M other"`: "a backend block for each cluster", `"--clusters=other"`: "a backend block for each cluster",
		`"--gres=fpga:1"`: "", `"--tmp=20G"`: "", `"--gpu-bind=closest"`: "", `"--mem-per-cpu=2G"`: "", `"--nodelist=a"`: "", `"--time-min=5"`: "", `"--ntasks=4", "-c 2"`: "",
	} {
		j := providers.Job{Phase: "train", Options: json.RawMessage(`{"extra": [` + extra + `]}`), Shape: offer.Shape{CPUs: 8, Memory: 32 << 30, Nodes: 1}}
		text, err := Request{Name: "n", Job: &j, Count: 1, Agent: []string{"a"}}.Text()
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
