package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// TestScontrolKilled: the TERM that follows a requeue reaches the scontrol that
// is to change the job, too. It is run again; one that is refused is not.
func TestScontrolKilled(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	fake := func(text string) {
		os.Remove(said)
		program.Write(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\necho \"$@\" >> "+said+"\n"+text+"\n")
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	calls := func() int {
		text, _ := os.ReadFile(said)
		return strings.Count(string(text), "update JobId=5_1 MinMemoryNode=100\n")
	}
	change := func() error {
		return Node{}.Change(t.Context(), []scheduler.Jobs{{ID: "5", Indexes: []int{1}}}, scheduler.More{Memory: 100 << 20})
	}
	fake("[ $(wc -l < " + said + ") = 1 ] && kill -TERM $$; exit 0")
	if err := change(); err != nil || calls() != 2 {
		t.Errorf("killed once: %d calls, %v", calls(), err)
	}
	fake("echo 'Job is no longer pending execution' >&2; exit 1")
	if err := change(); err == nil || !strings.Contains(err.Error(), "no longer pending") || calls() != 1 {
		t.Errorf("refused: %d calls, %v", calls(), err)
	}
}
