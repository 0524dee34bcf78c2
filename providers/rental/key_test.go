package rental_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
)

// The key is the backend's file, else the variable, else a file of the cloud's tool.
func TestKeySource(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("CLOUD_KEY", "")
	for path, text := range map[string]string{"mine": "of-backend\n", "two": "one two", "none": " \n", "home/.config/cloud/key": "of-config\n", "home/.cloud": "of-home\n", "xdg/cloud/key": "of-xdg\n"} {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := rental.KeySource{Env: "CLOUD_KEY", Files: []string{"$XDG_CONFIG_HOME/cloud/key", "~/.cloud"}}
	find := func(s rental.KeySource, file string, command ...string) (string, error) {
		config, err := json.Marshal(map[string]any{"api_key_file": file, "api_key_command": command})
		if err != nil {
			t.Fatal(err)
		}
		return s.Find("Cloud", providers.Backend{Name: "cloud.c", Dir: dir, Config: config})
	}
	is := func(file, want string) {
		t.Helper()
		if got, err := find(s, file); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", file, got, err, want)
		}
	}
	is("", "of-config")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	is("", "of-xdg")
	if err := os.RemoveAll(filepath.Join(dir, "xdg")); err != nil {
		t.Fatal(err)
	}
	is("", "of-home")
	t.Setenv("CLOUD_KEY", " of-env ")
	is("", "of-env")
	is("mine", "of-backend")
	is(filepath.Join(dir, "mine"), "of-backend")
	t.Setenv("CLOUD_KEY", "")
	for file, says := range map[string]string{"two": "two holds no API key", "none": "none holds no API key", "missing": "missing, is not there"} {
		_, err := find(s, file)
		var e *providers.Error
		if !errors.As(err, &e) || e.Class != providers.Auth || !strings.Contains(e.Summary, says) || strings.Contains(e.Summary, "one two") {
			t.Errorf("%s: %v", file, err)
		}
	}
	s.Files = nil
	if _, err := find(s, ""); err == nil || !strings.Contains(err.Error(), "backend.cloud.c has no API key of Cloud") {
		t.Errorf("%v", err)
	}
	for _, x := range []struct{ script, want, says string }{
		{"echo of-command", "of-command", ""},
		{"cat mine", "of-backend", ""},
		{"echo one two", "", "the output of sh holds no API key"},
		{"echo of-command; echo 'no of-command in the vault' >&2; exit 3", "", "sh, which prints the API key, failed: exit status 3"},
	} {
		key, err := find(s, "", "sh", "-c", x.script)
		if key != x.want || (err == nil) != (x.says == "") {
			t.Errorf("%s: %q %v", x.script, key, err)
		}
		if err == nil {
			continue
		}
		if text := providers.WithHint(err); !strings.Contains(text, x.says) || strings.Contains(text, "of-command") || strings.Contains(text, "one two") {
			t.Errorf("%s: %s", x.script, text)
		}
	}
	if _, err := find(s, "", "no-such-program-5f1c"); err == nil || !strings.Contains(err.Error(), "no-such-program-5f1c, which prints the API key, failed") {
		t.Errorf("%v", err)
	}
	if _, err := find(s, "mine", "echo", "x"); err == nil || !strings.Contains(err.Error(), "write one of them") {
		t.Errorf("%v", err)
	}
}

// TestKeyFileOfOthers: a key that others of the machine may read, or replace, is refused,
// with the command that repairs it.
func TestKeyFileOfOthers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("CLOUD_KEY", "")
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("secret-of-mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true, 0o644: true, 0o777: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, s := range []rental.KeySource{{Env: "CLOUD_KEY", Files: []string{"~/key"}}, {Env: "CLOUD_KEY"}} {
			config := `{}`
			if s.Files == nil {
				config = `{"api_key_file": "key"}`
			}
			key, err := s.Find("Cloud", providers.Backend{Name: "cloud.c", Dir: dir, Config: json.RawMessage(config)})
			if (err != nil) != refused || !refused && key != "secret-of-mine" {
				t.Errorf("%o: %q %v", mode, key, err)
			}
			if err == nil {
				continue
			}
			if text := providers.WithHint(err); !strings.Contains(text, "chmod 600 "+path) || strings.Contains(text, "secret-of-mine") {
				t.Errorf("%o: %s", mode, text)
			}
		}
	}
}
