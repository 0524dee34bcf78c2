package node

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/internal/program"
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
	fake("[ $(wc -l < " + said + ") = 1 ] && kill -TERM $$; exit 0")
	if err := scontrol(t.Context(), "update", "JobId=5_1", "MinMemoryNode=100"); err != nil || calls() != 2 {
		t.Errorf("killed once: %d calls, %v", calls(), err)
	}
	fake("echo 'Job is no longer pending execution' >&2; exit 1")
	if err := scontrol(t.Context(), "update", "JobId=5_1", "MinMemoryNode=100"); err == nil || !strings.Contains(err.Error(), "no longer pending") || calls() != 1 {
		t.Errorf("refused: %d calls, %v", calls(), err)
	}
}

// TestToldToo: a command that Slurm's TERM ended before this process heard of it
// was ended by Slurm; one that somebody else ended was not.
func TestToldToo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, later []os.Signal
		sig           string
		want          bool
	}{
		"heard before":       {[]os.Signal{syscall.SIGTERM}, nil, "KILL", true},
		"heard after":        {nil, []os.Signal{syscall.SIGCONT, syscall.SIGTERM}, "TERM", true},
		"by somebody else":   {nil, nil, "TERM", false},
		"it ended by itself": {nil, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal, 4)
			for _, sg := range tt.before {
				signals <- sg
			}
			go func() {
				for _, sg := range tt.later {
					signals <- sg
				}
			}()
			if got := toldToo(signals, tt.sig); got != tt.want {
				t.Errorf("told: %v", got)
			}
		})
	}
}
