package rental

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A KeySource is where the API key of an account is found.
type KeySource struct {
	Cloud string   // "Vast.ai"
	Env   string   // variable that holds it
	Files []string // of the cloud's own tools, tried in order; "~/" and "$XDG_CONFIG_HOME/" may begin them
}

// Attr is the setting of a backend that names a file with the key.
func (s KeySource) Attr() offer.Attr {
	doc := "File that holds the API key and nothing else, readable by you alone; relative to the campaign. Default: `$" + s.Env + "`"
	if len(s.Files) > 0 {
		doc += ", then the files of " + s.Cloud + "'s own tool, `" + strings.ReplaceAll(strings.Join(s.Files, "` and `"), "$XDG_CONFIG_HOME/", "~/.config/") + "`"
	}
	return offer.Attr{Name: "api_key_file", Type: offer.String, Doc: doc + "."}
}

// Find is the key: of the file that the backend names, else of the environment, else
// of the files of the cloud's own tools. Errors are of class auth and never print it.
func (s KeySource) Find(b providers.Backend) (string, error) {
	var c struct {
		File string `json:"api_key_file"`
	}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return "", providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	if c.File != "" {
		return readKey(b, expand(c.File, b.Dir))
	}
	if key := strings.TrimSpace(os.Getenv(s.Env)); key != "" {
		return checkKey(b, key, "$"+s.Env)
	}
	for _, file := range s.Files {
		path := expand(file, "")
		if _, err := os.Stat(path); err == nil {
			return readKey(b, path)
		}
	}
	return "", &providers.Error{Class: providers.Auth, Summary: "backend." + b.Name + " has no API key of " + s.Cloud, Hint: "export " + s.Env + "=…, or name a file with api_key_file"}
}

func expand(path, dir string) string {
	home, _ := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, "$XDG_CONFIG_HOME/"); ok {
		if config := os.Getenv("XDG_CONFIG_HOME"); config != "" {
			return filepath.Join(config, rest)
		}
		return filepath.Join(home, ".config", rest)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func readKey(b providers.Backend, path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", providers.Errorf(providers.Auth, "backend.%s: the file of the API key, %s, is not there", b.Name, path)
	}
	if err != nil {
		return "", providers.Errorf(providers.Auth, "backend.%s: the file of the API key cannot be read: %v", b.Name, err)
	}
	return checkKey(b, strings.TrimSpace(string(text)), path)
}

// checkKey refuses what cannot be a key, and never prints it.
func checkKey(b providers.Backend, key, from string) (string, error) {
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", providers.Errorf(providers.Auth, "backend.%s: %s holds no API key: one word is expected", b.Name, from)
	}
	return key, nil
}
