package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers/offer"
)

// Where logind ends what a session leaves behind, the queue runs in a scope of
// the user's manager; where that has none, it runs all the same.
func TestStartedThroughSystemd(t *testing.T) {
	for name, c := range map[string]struct {
		kills, scope string
		started      bool
	}{
		"logind ends processes":                       {"yes", `exec "$@"`, true},
		"logind ends processes, there is no user bus": {"yes", `echo "Failed to connect to bus: No medium found" >&2; exit 1`, true},
		"logind lets them be":                         {"no", `exec "$@"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			bin := t.TempDir()
			for tool, script := range map[string]string{
				"loginctl":    "echo KillUserProcesses=" + c.kills + "; echo KillExcludeUsers=",
				"systemd-run": `echo "$@" >> ` + bin + `/asked; while [ "$1" != -- ]; do shift; done; shift; ` + c.scope,
			} {
				program.Write(t, filepath.Join(bin, tool), "#!/bin/sh\n"+script+"\n")
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			t.Setenv("XDG_SESSION_ID", "3")
			j := w.job("echo > out", "out")
			w.submit(j)
			if o := w.wait(j)[0]; o.Status != offer.Completed {
				t.Errorf("%+v", o)
			}
			asked, _ := os.ReadFile(filepath.Join(bin, "asked"))
			if strings.HasPrefix(string(asked), "--user --scope ") != c.started || c.started && !strings.Contains(string(asked), "Delegate=yes") {
				t.Errorf("systemd-run was asked %q", asked)
			}
			os.Truncate(filepath.Join(w.client.Spool, "queue.err"), 0) // where the bus was missed
		})
	}
}
