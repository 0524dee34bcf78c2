package vastai

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Vast.ai as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Schema describes `backend "vastai"`.
func Schema() offer.Schema { return rental.Schema(Platform{}) }

// NewProvider makes the provider of type vastai.
func NewProvider() *rental.Provider { return rental.New(Platform{}) }

// Type is "vastai".
func (Platform) Type() string { return "vastai" }

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Name: "Vast.ai", Verified: "2026-08", Granularity: time.Second, Boot: 3 * time.Minute, Home: "/root",
		Clocks: []offer.Clock{{What: "a machine whose contract ended may be deleted", After: 48 * time.Hour}},
		Notes: []string{
			"a stopped machine has no claim on its GPU, and its disk is billed until it is released",
			"bandwidth is billed in every state; at $0 of credit machines are stopped, and without a card deleted",
			"tested on a simulator of Vast.ai; it has not met the live service",
		},
	}
}

// The variables that the service's own command line tool reads.
const (
	EnvKey = "VAST_API_KEY"
	EnvURL = "VAST_URL"
)

// Attrs are where the key is found.
func (Platform) Attrs() []offer.Attr {
	return []offer.Attr{
		{Name: "api_key_file", Type: offer.String, Doc: "File that holds the API key and nothing else, readable by you alone; relative to the campaign. Default: `$VAST_API_KEY`, then the files of Vast.ai's own tool, `~/.config/vastai/vast_api_key` and `~/.vast_api_key`."},
	}
}

// Open makes a client. It reads the key and asks nothing.
func (Platform) Open(b providers.Backend) (rental.Account, error) {
	var c struct {
		File string `json:"api_key_file"`
	}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	key, err := findKey(b, c.File)
	if err != nil {
		return nil, err
	}
	url := os.Getenv(EnvURL)
	if url == "" {
		url = Server
	}
	return New(Config{URL: url, Key: key, Now: time.Now, Sleep: sleep}), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// findKey is the key: of the file that the backend names, else of the environment,
// else of the files of the service's own tool.
func findKey(b providers.Backend, file string) (string, error) {
	if file != "" {
		return readKey(b, expand(file, b.Dir))
	}
	if key := strings.TrimSpace(os.Getenv(EnvKey)); key != "" {
		return checkKey(b, key, "$"+EnvKey)
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = expand("~/.config", "")
	}
	for _, path := range []string{filepath.Join(config, "vastai", "vast_api_key"), expand("~/.vast_api_key", "")} {
		if _, err := os.Stat(path); err == nil {
			return readKey(b, path)
		}
	}
	return "", &providers.Error{Class: providers.Auth, Summary: "backend." + b.Name + " has no API key of Vast.ai", Hint: "export " + EnvKey + "=…, or name a file with api_key_file"}
}

func expand(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, _ := os.UserHomeDir()
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
