package vm

import (
	"bytes"
	"debug/elf"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed init
var initScript []byte

// modules are the kernel modules of a virtual network card, where they are not built in; init
// loads them in its order.
var modules = []string{"drivers/virtio/virtio_ring", "drivers/virtio/virtio", "drivers/virtio/virtio_pci_legacy_dev", "drivers/virtio/virtio_pci_modern_dev",
	"drivers/virtio/virtio_pci", "net/core/failover", "drivers/net/net_failover", "drivers/net/virtio_net"}

// initramfs is the file system a machine boots from: an archive as cpio(5)
// calls newc. root is where the packages were unpacked.
func initramfs(root string, authorizedKeys []byte) ([]byte, error) {
	a := archive{made: map[string]bool{}}
	a.file("init", initScript, 0o755)
	a.file("authorized_keys", authorizedKeys, 0o644)
	a.file("etc/passwd", []byte("root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n"), 0o644)
	a.file("etc/group", []byte("root:x:0:\nalice:x:1000:\n"), 0o644)
	a.file("etc/shells", []byte("/bin/sh\n"), 0o644)
	for _, p := range []string{"bin/busybox", "usr/sbin/dropbear"} {
		if err := a.program(root, p); err != nil {
			return nil, err
		}
	}
	for _, m := range modules {
		found, _ := filepath.Glob(filepath.Join(root, "lib/modules/*/kernel", m+".ko"))
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			a.file("modules/"+filepath.Base(path), text, 0o644)
		}
	}
	a.entry("TRAILER!!!", nil, 0)
	return a.Bytes(), nil
}

// An archive grows entry by entry.
type archive struct {
	bytes.Buffer
	made  map[string]bool // folders by path, libraries by name
	inode int
}

// program adds a file and its libraries.
func (a *archive) program(root, path string) error {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	a.file(path, text, 0o755)
	return a.linked(root, path, text)
}

// linked adds the loader and the libraries that a file asks for.
func (a *archive) linked(root, path string, text []byte) error {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := a.library(root, string(bytes.Trim(name, "/\x00"))); err != nil {
			return err
		}
	}
	for _, name := range needed {
		if err := a.library(root, "lib/"+name); err != nil {
			return err
		}
	}
	return nil
}

// library adds a library of the packages as at, unless it is there.
func (a *archive) library(root, at string) error {
	name := filepath.Base(at)
	if a.made[name] {
		return nil
	}
	a.made[name] = true
	for _, dir := range []string{"lib/*-linux-gnu", "usr/lib/*-linux-gnu"} {
		found, _ := filepath.Glob(filepath.Join(root, dir, name))
		if len(found) == 0 {
			continue
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			return err
		}
		a.file(at, text, 0o755)
		return a.linked(root, at, text)
	}
	return fmt.Errorf("library %s: %w", name, fs.ErrNotExist)
}

// file adds a file and its parent folders.
func (a *archive) file(path string, text []byte, mode int) {
	for i, c := range path {
		if dir := path[:i]; c == '/' && !a.made[dir] {
			a.made[dir] = true
			a.entry(dir, nil, 0o40755)
		}
	}
	a.entry(path, text, 0o100000|mode)
}

func (a *archive) entry(path string, text []byte, mode int) {
	a.inode++
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.inode, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(path)+1, 0)
	a.WriteString(path + "\x00")
	a.pad()
	a.Write(text)
	a.pad()
}

func (a *archive) pad() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}
