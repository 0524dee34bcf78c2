// Command pack builds muster-host for every kind of host, as the ssh provider
// embeds it: NAME.gz with NAME.sha256 beside it, the digest of what is inside.
// What has not changed is left alone.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// targets are the kinds of hosts: operating system and architecture, as Go names them.
var targets = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FOLDER [ARCHITECTURE…]")
		os.Exit(2)
	}
	for _, t := range targets {
		if len(os.Args) > 2 && !contains(os.Args[2:], t[1]) {
			continue
		}
		if err := pack(os.Args[1], t[0], t[1]); err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
	}
}

func contains(list []string, s string) bool {
	for _, o := range list {
		if o == s {
			return true
		}
	}
	return false
}

func pack(dir, system, arch string) error {
	path := filepath.Join(dir, "muster-host-"+system+"-"+arch)
	tmp, err := os.MkdirTemp("", "muster-pack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	built := filepath.Join(tmp, "muster-host")
	// No time, path or commit goes in: the same sources give the same bytes,
	// and a host keeps the binary it has.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", built, "github.com/muster-run/muster/cmd/muster-host")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s/%s: %w", system, arch, err)
	}
	b, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:]) + "\n"
	if was, err := os.ReadFile(path + ".sha256"); err == nil && string(was) == digest {
		if _, err := os.Stat(path + ".gz"); err == nil {
			return nil
		}
	}
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression) // the level is legal
	if _, err := w.Write(b); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(path+".gz", z.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+".sha256", []byte(digest), 0o644)
}
