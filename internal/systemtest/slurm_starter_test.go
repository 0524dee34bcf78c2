package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slurmStarter: the starter for a cluster runs as it is, on the login node,
// with its workdir in the home.
func slurmStarter(t *testing.T) {
	c := onSlurm(t, `campaign "none" {}`)
	dir := filepath.Join(c.workdir, "starter")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-from=slurm"}, {"apply", "-auto-approve"}} {
		cmd := c.command(args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "HOME="+c.workdir)
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "apply" && !strings.Contains(string(out), "20 of 20 jobs done and verified") {
			t.Fatalf("muster %v: %v\n%s", args, err, out)
		}
	}
	if !exists(filepath.Join(c.workdir, "muster", "slurm-sweep", "students", "width256-seed5.json")) {
		t.Error("the results are not where ~ is")
	}
}
