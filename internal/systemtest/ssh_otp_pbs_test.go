package systemtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
)

// TestSystemSSHCodePBS: codedCluster on PBS, whose stand-in runs on the login node.
func TestSystemSSHCodePBS(t *testing.T) {
	// Requirement: ACC-01
	r := newCoded(t, strings.NewReplacer(`"slurm"`, `"pbs"`, "backend.slurm", "backend.pbs").Replace(slurmCoded))
	r.put("tools/qsub", "#!/bin/sh\necho submitted >>FOLDER/calls\nexec FOLDER/pbs/bin/qsub \"$@\"\n")
	server := r.folder + "/tools/muster-pbssim"
	build := exec.Command("go", "build", "-o", r.host.Path(server), "github.com/muster-run/muster/cmd/muster-pbssim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.host.Exec("runuser -u alice -- setsid " + server + " " + r.folder + "/pbs </dev/null >/dev/null 2>&1 &")
	r.until("the PBS server", func() bool {
		_, err := os.Stat(r.host.Path(r.folder + "/pbs/bin/qstat"))
		return err == nil
	})
	program.Write(t, r.host.Path("/home/alice/.profile"), "PATH="+r.folder+"/tools:"+r.folder+"/pbs/bin:$PATH\n")
	codedCluster(r, "calls", "submitted")
}
