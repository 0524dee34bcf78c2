package site

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
)

// TestSecretOfACommand: the value is its output, also where it leaves an agent behind; where
// it fails, the error says why, and holds nothing of the value.
func TestSecretOfACommand(t *testing.T) {
	t.Parallel()
	run := func(text string) (string, error) {
		return Secret(t.TempDir(), lang.Secret{Command: []string{"/bin/sh", "-c", text}})
	}
	if v, err := run("sleep 7 & echo hunter2"); v != "hunter2" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	_, err := run("echo hunter2; echo one >&2; echo 'vault: hunter2 is sealed' >&2; exit 4")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.HasSuffix(err.Error(), "exit status 4: vault: (the secret) is sealed") {
		t.Errorf("%v", err)
	}
}
