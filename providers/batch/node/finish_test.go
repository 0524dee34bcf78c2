package node

import (
	"os"
	"syscall"
	"testing"
)

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
