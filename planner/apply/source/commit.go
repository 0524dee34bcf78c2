package source

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
)

const gitTimeout = 5 * time.Second

// Commit is the commit that a folder is at, and whether it differs from it;
// "" where there is no git or no repository. It is recorded and in no hash.
func Commit(ctx context.Context, dir string) (id string, dirty bool) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := git(ctx, dir, "rev-parse", "HEAD")
	if err != nil {
		return "", false
	}
	id = strings.TrimSpace(string(out))
	out, err = git(ctx, dir, "status", "--porcelain", "--untracked-files=no", "--", ".")
	return id, err == nil && len(bytes.TrimSpace(out)) > 0
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	// A folder of a checkout may look like a bare repository, whose settings name
	// programs: git-config(1), safe.bareRepository and core.fsmonitor.
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-C", dir}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := subprocess.Run(cmd)
	return out.Bytes(), err
}
