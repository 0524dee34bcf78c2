package rental

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A KeySource is where the API key of an account is found.
type KeySource struct {
	Env   string   // variable that holds it
	Files []string // of the cloud's own tools, tried in order; "~/" and "$XDG_CONFIG_HOME/" may begin them
}

// attrs are the settings of a backend that say where its key for a cloud is.
func (s KeySource) attrs(cloud string) []offer.Attr {
	doc := "File that holds the API key and nothing else, readable by you alone (`chmod 600`); relative to the campaign. Default: `$" + s.Env + "`"
	if len(s.Files) > 0 {
		doc += ", then the files of " + cloud + "'s own tool, `" + strings.ReplaceAll(strings.Join(s.Files, "` and `"), "$XDG_CONFIG_HOME/", "~/.config/") + "`"
	}
	return []offer.Attr{
		{Name: "api_key_file", Type: offer.String, Doc: doc + "."},
		{Name: "api_key_command", Type: offer.StringList, Doc: "Instead of a file, a program with its arguments that prints the API key: `[\"pass\", \"show\", \"" + strings.ToLower(cloud) + "\"]`. It runs in the folder of the campaign, once for each command of muster that needs the key, for at most 30 s."},
	}
}

// Find is the key for a cloud: of the file or the command that the backend names, else of the
// environment, else of the files of the cloud's own tools. Errors are of class auth and
// never print it.
func (s KeySource) Find(cloud string, b providers.Backend) (string, error) {
	var c struct {
		File    string   `json:"api_key_file"`
		Command []string `json:"api_key_command"`
	}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return "", providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	switch {
	case c.File != "" && len(c.Command) > 0:
		return "", providers.Errorf(providers.Invalid, "backend.%s: api_key_file and api_key_command both say where the API key is: write one of them", b.Name)
	case c.File != "":
		return readKey(b, expand(c.File, b.Dir))
	case len(c.Command) > 0:
		return askKey(b, c.Command)
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
	return "", &providers.Error{Class: providers.Auth, Summary: "backend." + b.Name + " has no API key of " + cloud, Hint: "export " + s.Env + "=…, or name a file with api_key_file, or a program with api_key_command"}
}

// keyTime is how long the program that prints a key may take: a person may have to
// unlock the store that keeps it.
const keyTime = 30 * time.Second

// askKey runs the program that prints the key.
func askKey(b providers.Backend, command []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = b.Dir
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	err := subprocess.Leave(cmd) // an agent of its own may keep the store open
	key := strings.TrimSpace(out.String())
	switch {
	case ctx.Err() != nil:
		return "", providers.Errorf(providers.Auth, "backend.%s: %s did not print the API key within %v", b.Name, command[0], keyTime)
	case err != nil:
		e := providers.Errorf(providers.Auth, "backend.%s: %s, which prints the API key, failed: %v", b.Name, command[0], err)
		if e.Detail = strings.TrimSpace(told.String()); key != "" {
			e.Detail = strings.ReplaceAll(e.Detail, key, "(the key)")
		}
		return "", e
	}
	return checkKey(b, key, "the output of "+command[0])
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

// others are the permissions by which others than its owner read or change a file.
const others = 0o077

func readKey(b providers.Backend, path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&others != 0 {
		return "", &providers.Error{Class: providers.Auth, Summary: fmt.Sprintf("backend.%s: others than you may read or change the file of the API key, %s (mode %04o)", b.Name, path, info.Mode().Perm()),
			Hint: "chmod 600 " + shell.Quote(path) + "; if others use this machine, make a new key"}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", providers.Errorf(providers.Auth, "backend.%s: the file of the API key, %s, is not there", b.Name, path)
	}
	if err != nil {
		return "", providers.Errorf(providers.Auth, "backend.%s: the file of the API key cannot be read: %v", b.Name, err)
	}
	return checkKey(b, strings.TrimSpace(string(text)), path)
}

// checkKey refuses a text that cannot be a key, and never prints it.
func checkKey(b providers.Backend, key, from string) (string, error) {
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", providers.Errorf(providers.Auth, "backend.%s: %s holds no API key: one word is expected", b.Name, from)
	}
	return key, nil
}
