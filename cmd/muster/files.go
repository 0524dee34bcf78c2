package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/lang"
)

// dataDir is where muster keeps what is not state: caches, requests,
// providers of this campaign. MUSTER_DATA_DIR moves it off a read-only
// checkout.
func (a *app) dataDir() string {
	if d := os.Getenv("MUSTER_DATA_DIR"); d != "" {
		return d
	}
	return filepath.Join(a.dir, ".muster")
}

// cacheDir is where muster keeps what it can make again.
func (a *app) cacheDir() string { return filepath.Join(a.dataDir(), "cache") }

// statePath is where the file store of a campaign lives: beside it, or where
// `state "file" { path = … }` says.
func statePath(c *lang.Campaign) (string, error) {
	var config struct {
		Path string `json:"path"`
	}
	if c.Store.Type != "" && c.Store.Type != "file" {
		return "", command.Usagef("this muster keeps state in files only; there is no store %q", c.Store.Type)
	}
	if len(c.Store.Config) > 0 {
		if err := json.Unmarshal(c.Store.Config, &config); err != nil {
			return "", fmt.Errorf("read the state block: %w", err)
		}
	}
	if config.Path == "" || filepath.IsAbs(config.Path) {
		return cmp.Or(config.Path, c.Dir), nil
	}
	return filepath.Join(c.Dir, config.Path), nil
}

// writeFile writes a file through fill so that it is whole or absent.
func writeFile(path string, fill func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	if err := fill(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replaceFile writes new content in place of a file, keeping its mode.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	return writeFile(path, func(f *os.File) error {
		if err := f.Chmod(mode); err != nil {
			return err
		}
		_, err := f.Write(content)
		return err
	})
}
