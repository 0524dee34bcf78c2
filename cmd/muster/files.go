package main

import (
	"cmp"
	"crypto/rand"
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

// writeFile writes a file whole or not at all, where its path leads by links, with
// the mode that it has or else the one that the umask leaves. What is no file, a
// pipe or a device, is written to and stays what it is.
func writeFile(path string, fill func(*os.File) error) error {
	if err := fillFile(path, fill); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func fillFile(path string, fill func(*os.File) error) error {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
	}
	old, err := os.Lstat(path)
	if err == nil && !old.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return err
		}
		return closed(f, fill(f))
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = fill(f)
	}
	if err := closed(f, err); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// closed closes a file that was filled, or was not.
func closed(f *os.File, filled error) error { return cmp.Or(filled, f.Close()) }

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
