// Package wrapper starts a job where it runs and keeps its record: one shell
// process that claims the job's token, runs the command and writes down how
// it ended, whether or not anybody is left to watch. A job whose record holds
// a claim is never started again under the same token and restart count.
package wrapper

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/internal/atomicfile"
)

//go:embed wrapper.sh
var script []byte

// Install writes the wrapper into dir, named by its digest so that running
// shells never see the script change, and returns its path.
func Install(dir string) (string, error) {
	sum := sha256.Sum256(script)
	path := filepath.Join(dir, "wrapper-"+hex.EncodeToString(sum[:4])+".sh")
	if b, err := os.ReadFile(path); err == nil && string(b) == string(script) {
		return path, nil
	}
	if err := atomicfile.Write(path, script, 0o700); err != nil {
		return "", fmt.Errorf("install wrapper: %w", err)
	}
	return path, nil
}
