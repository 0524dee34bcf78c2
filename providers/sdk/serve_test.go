package sdk

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		Serve(struct{ providers.Provider }{})
		return
	}
	os.Exit(m.Run())
}

func TestStartedByHandSaysWhatItIs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "serve")
	cmd.Env = []string{"HOME=/"}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "This is a provider of muster") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOrphanAtBirthEnds: the parent it is given never existed.
func TestOrphanAtBirthEnds(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "serve")
	cmd.Env = []string{"MUSTER_PROVIDER=6d757374-65722d70-726f7669-64657231", "MUSTER_PARENT=4194303-1", "PLUGIN_PROTOCOL_VERSIONS=1", "TMPDIR=/tmp"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out
	_ = cmd.Wait() // the test's own time limit is the bound
}
