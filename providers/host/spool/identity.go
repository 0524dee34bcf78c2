package spool

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
)

const identityFile = "identity"

// Identity names one spool among all: a queue that does not know a job is right only if the
// job was submitted to it. It is "" where there is no spool yet, or one of an older version.
func Identity(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Identify gives a spool its identity, if it has none. Only its holder does.
func Identify(dir string) error {
	if Identity(dir) != "" {
		return nil
	}
	if err := atomicfile.Write(filepath.Join(dir, identityFile), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return fmt.Errorf("identify spool: %w", err)
	}
	return nil
}
