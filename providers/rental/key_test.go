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
	s := rental.KeySource{Cloud: "Cloud", Env: "CLOUD_KEY", Files: []string{"$XDG_CONFIG_HOME/cloud/key", "~/.cloud"}}
	find := func(s rental.KeySource, file string) (string, error) {
		config, err := json.Marshal(map[string]string{"api_key_file": file})
		if err != nil {
			t.Fatal(err)
		}
		return s.Find(providers.Backend{Name: "cloud.c", Dir: dir, Config: config})
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
}
