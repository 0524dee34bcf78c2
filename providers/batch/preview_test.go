package batch

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
)

// TestShownIsSubmitted: the script that a plan shows, made of the pools that a
// provider told, is the text that sbatch is given, but for ids and paths that are
// known only then: also where the GPUs must be asked for by type.
func TestShownIsSubmitted(t *testing.T) {
	// Requirement: SUB-08
	k := newBench(t)
	k.f.answer = func(argv []string) *command.Result {
		switch {
		case slices.Contains(argv, "partition"):
			return &command.Result{Out: []byte("PartitionName=amilan State=UP TotalNodes=1 Default=YES\nPartitionName=agpu State=UP TotalNodes=2\n")}
		case argv[0] == "sinfo":
			node := func(name, gres string) string {
				return fmt.Sprintf("%-64s%-64s%-24s%-32s%-16s%-256s%-256s%-256s\n", name, "agpu", "idle", "0/64/0/64", "262144", gres, "gpu:0", "(null)")
			}
			return &command.Result{Out: []byte(node("g1", "gpu:a100:3") + node("g2", "gpu:v100:4"))}
		}
		return nil
	}
	k.b.Config = json.RawMessage(`{"account": "campus", "qos": "normal"}`)
	k.restart()
	pools, err := k.s.Pools(t.Context(), k.b.Name)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pool, options string
		shape         offer.Shape
		holds         string
	}{
		"a type by name": {"agpu", "", offer.Shape{CPUs: 4, Nodes: 1, GPUs: 2, GPU: offer.GPU{Models: []string{"V100"}}}, "--gres=gpu:v100:2\n"},
		"any type":       {"agpu", "", offer.Shape{CPUs: 4, Nodes: 1, GPUs: 1}, "--gres=gpu:1\n"},
		"options":        {"amilan", `{"qos": "long", "constraint": "ib", "nodes": 2, "extra": ["-C", "milan", "--tmp=5G"]}`, offer.Shape{CPUs: 4, Nodes: 1}, "--qos=long\n"},
		"no GPUs":        {"amilan", "", offer.Shape{CPUs: 1, Nodes: 1}, "--qos=normal\n"},
	} {
		jobs := k.jobs(strings.ReplaceAll(name, " ", ""), 3, nil)
		for i := range jobs {
			jobs[i].Pool, jobs[i].Shape, jobs[i].Cap = c.pool, c.shape, 2
			if c.options != "" {
				jobs[i].Options = json.RawMessage(c.options)
			}
		}
		k.f.scripts = nil
		if _, err := k.s.Submit(t.Context(), providers.SubmitRequest{Backend: k.b.Name, Jobs: jobs}); err != nil {
			t.Fatal(err)
		}
		if len(k.f.scripts) != 1 {
			t.Fatalf("%s: %d scripts", name, len(k.f.scripts))
		}
		pool := pools[slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Name == c.pool })]
		script, err := preview(slurm.Type{}, providers.ScriptRequest{Backend: k.b, Pool: pool, Like: &jobs[0], Count: len(jobs)})
		if err != nil {
			t.Fatal(err)
		}
		shown := script.Text
		known := func(text string) string { // what is known only when it is submitted
			spool := k.s.backends[k.b.Name].campaign.spools.dir
			text = strings.ReplaceAll(text, spool, filepath.Join(k.b.Workdir, ".muster", "slurm", "CAMPAIGN"))
			text = strings.ReplaceAll(text, arrays.Name(jobs[0].Phase, jobs[0].Token, 0), arrays.Name(jobs[0].Phase, "TOKEN", 0))
			before, agent, _ := strings.Cut(text, "\nexec ")
			_, batch, _ := strings.Cut(agent, " -batch ")
			return before + "\nexec AGENT -batch " + batch
		}
		if diff := cmp.Diff(known(shown), known(k.f.scripts[0])); diff != "" || !strings.Contains(shown, c.holds) {
			t.Errorf("%s (-shown +submitted):\n%s\n%s", name, diff, shown)
		}
	}
}

// TestCutIntoArrays: no array that is shown has more jobs than the cluster takes,
// nor than are submitted at once.
func TestCutIntoArrays(t *testing.T) {
	t.Parallel()
	var pool offer.Pool
	pool.Facts = []offer.Fact{{Name: "jobs of an array", Value: "50"}}
	for _, c := range []struct {
		jobs  int
		apart bool
		sizes []int
	}{
		{120, false, []int{50, 50, 20}},
		{50, false, []int{50}},
		{1, false, []int{1}},
		{3, true, []int{1}}, // smokes, one after another
	} {
		got, err := preview(slurm.Type{}, providers.ScriptRequest{Backend: providers.Backend{Name: "slurm.x", Type: "slurm"}, Pool: pool, Like: &providers.Job{Phase: "p"}, Count: c.jobs, Apart: c.apart})
		if err != nil || !slices.Equal(got.Sizes, c.sizes) {
			t.Errorf("%d jobs, apart %v: %d, %v", c.jobs, c.apart, got.Sizes, err)
		}
	}
}
