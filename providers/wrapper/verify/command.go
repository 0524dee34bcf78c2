package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// commandTail is how much of its output is kept, in bytes.
const commandTail = 4 << 10

// checkCommand runs the user's own loader by /bin/sh in the workdir, with the
// path in $1 and MUSTER_OUTPUT; it must exit 0. Of a glob it sees each file,
// of a dir the folder.
func checkCommand(ctx context.Context, f *file, c providers.VerifyCheck) error {
	command := c.Command
	if command == "" {
		return errors.New("there is no command to run")
	}
	said := &tail{}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command, "sh", f.path)
	cmd.Dir = f.workdir
	cmd.Env = append(os.Environ(), "MUSTER_OUTPUT="+f.path)
	cmd.Stdout, cmd.Stderr = said, said
	err := subprocess.Run(cmd)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if line := said.last(); line != "" {
		return fmt.Errorf("%w: %s", err, line)
	}
	return fmt.Errorf("%w, and it said nothing; it was run as: sh -c %s sh %s", err, shell.Enclose(command), shell.Quote(f.path))
}

// NotRun reports whether the command of an output gave no verdict: sh found no such program or
// could not run it, or it was killed, as where memory is short.
func NotRun(o offer.Output) bool {
	_, ended, found := strings.Cut(o.Verdict, "command: ")
	return found && slices.ContainsFunc([]string{"exit status 126", "exit status 127", "exit status 137", "signal: killed"}, func(s string) bool { return strings.HasPrefix(ended, s) })
}

// A tail keeps the last bytes that were written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-commandTail):]...)
	if len(t.b) > commandTail {
		t.b = append(t.b[:0], t.b[len(t.b)-commandTail:]...)
	}
	return len(p), nil
}

// last is the last line that is not empty.
func (t *tail) last() string {
	b := bytes.TrimSpace(t.b)
	return string(bytes.TrimSpace(b[bytes.LastIndexByte(b, '\n')+1:]))
}
