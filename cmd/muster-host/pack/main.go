// Command pack builds muster-host for every kind of host, as the ssh provider embeds it:
// NAME.gz with NAME.sha256 beside it, the digest of its content. It leaves unchanged files
// alone.
//
//	pack FOLDER [ARCHITECTURE…]
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
	"runtime"
	"slices"
)

const (
	module  = "github.com/muster-run/muster"
	carrier = "providers/host/gpu/bin" // holds, by architecture, the files that muster-host carries
)

// architectures are those of the hosts, as Go names them; all run Linux.
var architectures = []string{"amd64", "arm64"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FOLDER [ARCHITECTURE…]")
		os.Exit(2)
	}
	for _, arch := range architectures {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], arch) {
			continue
		}
		if err := pack(os.Args[1], arch); err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
	}
}

// pack builds muster-host for an architecture, with muster-nvml inside where
// that can be built.
func pack(dir, arch string) error {
	if err := carry(arch); err != nil {
		fmt.Fprintf(os.Stderr, "pack: linux/%s hosts are asked for their GPUs by nvidia-smi, not NVML: %v\n", arch, err)
	}
	b, err := build(arch, "cmd/muster-host", "-E "+module+"/internal/ulimit.entry", "CGO_ENABLED=0")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:]) + "\n"
	path := filepath.Join(dir, "muster-host-linux-"+arch)
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
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(path+".gz", z.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+".sha256", []byte(digest), 0o644)
}

// carry puts muster-nvml where muster-host embeds it from. Without a C
// compiler for the architecture there is none.
func carry(arch string) error {
	dir, err := folder(carrier)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, arch, "muster-nvml")
	cc, err := compiler(arch)
	if err == nil {
		var b []byte
		if b, err = build(arch, "cmd/muster-nvml", "", "CGO_ENABLED=1", "CC="+cc); err == nil {
			if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, b) {
				return nil
			}
			return os.WriteFile(path, b, 0o644)
		}
	}
	if gone := os.Remove(path); gone != nil && !os.IsNotExist(gone) {
		return gone // an old one would be of other sources
	}
	return err
}

// compiler is a C compiler for an architecture: that of CC_FOR_linux_ARCH, as
// in Go's own build, else Debian's, else this machine's own.
func compiler(arch string) (string, error) {
	if cc := os.Getenv("CC_FOR_linux_" + arch); cc != "" {
		return cc, nil
	}
	names := []string{map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}[arch]}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		names = append(names, "cc")
	}
	for _, cc := range names {
		if _, err := exec.LookPath(cc); err == nil {
			return cc, nil
		}
	}
	return "", fmt.Errorf("there is no C compiler %s; CC_FOR_linux_%s names another", names[0], arch)
}

// build is a program for Linux. No time, path or commit goes in: the same
// sources give the same bytes, and a host keeps the binary it has.
func build(arch, program, ldflags string, env ...string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "muster-pack")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	built := filepath.Join(tmp, filepath.Base(program))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= "+ldflags, "-o", built, module+"/"+program)
	cmd.Env = append(append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "GOFLAGS="), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build %s for linux/%s: %w\n%s", program, arch, err, said.Bytes())
	}
	return os.ReadFile(built)
}

// folder is a folder of the module.
func folder(path string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", module, err)
	}
	return filepath.Join(string(bytes.TrimSpace(out)), path), nil
}
