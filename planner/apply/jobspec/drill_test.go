package jobspec

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// drilled runs the drill of a job by a shell in a session of its own, and returns its
// output and its error.
func drilled(t *testing.T, shell string, job *providers.Job) (string, error) {
	t.Helper()
	dir := t.TempDir()
	drill(job)
	cmd := filepath.Join(dir, "cmd")
	if err := os.WriteFile(cmd, []byte(job.Shell), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	words := append(strings.Fields(shell), cmd)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
	c.Env = append(os.Environ(), "MUSTER_JOB="+dir, "MUSTER_CHECKPOINT="+filepath.Join(dir, "the ck"), "status=the user's", "MUSTER_RESTART=3")
	out, err := c.CombinedOutput()
	return string(out), err
}

// ranTwice is a program that is ended while a child of its own writes its checkpoint,
// late, after the shell that started it has ended.
const ranTwice = `echo "launch $MUSTER_RESTART $MUSTER_ATTEMPT $status"
if [ "$MUSTER_RESTART" = 1 ]; then [ "$(cat "$MUSTER_CHECKPOINT/step")" = saved ] && echo done >"$MUSTER_CHECKPOINT/step"; exit; fi
mkdir "$MUSTER_CHECKPOINT"; echo begun >"$MUSTER_CHECKPOINT/step"
sh -c 'trap "sleep 2; echo saved >\"\$MUSTER_CHECKPOINT/step\"; exit" TERM USR1 INT; while :; do sleep 1; done' &
wait`

// TestDrill: the second launch begins after all of the first has ended, whatever shell
// runs it and whatever the signal, for a command in words as for a text; the user's
// variables stay.
func TestDrill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shell string
		job   providers.Job
	}{
		"text":       {"sh", providers.Job{Shell: ranTwice}},
		"words":      {"sh", providers.Job{Argv: []string{"sh", "-c", ranTwice}}},
		"bash, USR1": {"bash --posix", providers.Job{Shell: ranTwice, Checkpoint: providers.Checkpoint{Signal: "USR1", Grace: 20 * time.Second}}},
		"busybox":    {"busybox sh", providers.Job{Shell: ranTwice}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(strings.Fields(c.shell)[0]); err != nil {
				t.Skip(err)
			}
			out, err := drilled(t, c.shell, &c.job)
			if err != nil || !strings.Contains(out, "launch 0 1 the user's") || !strings.Contains(out, "launch 1 2 the user's") {
				t.Errorf("the drill ended with %v:\n%s", err, out)
			}
		})
	}
}

// TestDrillOfACommandThatFails: its exit code is that of the drill, and nothing is
// launched again.
func TestDrillOfACommandThatFails(t *testing.T) {
	t.Parallel()
	out, err := drilled(t, "sh", &providers.Job{Shell: "echo launch; exit 7"})
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 7 || strings.Count(out, "launch") != 1 {
		t.Errorf("it ended with %v:\n%s", err, out)
	}
}
