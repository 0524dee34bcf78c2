package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slurmMD runs the example of a pipeline in nine stages as it is, but for where its files are.
func slurmMD(t *testing.T) {
	c := onSlurm(t, `campaign "empty" {}`)
	const example = "../../examples/md"
	for _, name := range []string{"campaign.muster.hcl", "md.sh", "system.gro"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		c.write(name, string(text))
	}
	vars := []string{"-var=workdir=" + c.workdir, "-var=keep=" + filepath.Join(c.workdir, "kept"), "-var=account="}
	if out := c.must(append([]string{"plan"}, vars...)...); !strings.Contains(out, "on atesting_a100") || !strings.Contains(out, "Plan: 46 to run") {
		t.Errorf("the plan:\n%s", out)
	}
	c.must(append([]string{"apply", "-auto-approve"}, vars...)...)
	c.idle(time.Minute)
	for name, want := range map[string]string{"kept/npt.gro": "frames from 0 to 20 ns", "decorrelate/state.cpt": "400", "energies.csv": "20.log,-1234.5", "kept/7.xtc": "frames from 0 to 50 ns"} {
		text, err := os.ReadFile(filepath.Join(c.workdir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v, want %q", name, text, err, want)
		}
	}
	if out := c.must(append([]string{"plan", "-detailed-exitcode"}, vars...)...); !strings.Contains(out, "Nothing to do") {
		t.Errorf("the plan after it:\n%s", out)
	}
}
