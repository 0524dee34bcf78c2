// Package spool finds the directory of a user's queue on this machine, and
// names the files in it.
package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/userstate"
)

// Env names a spool outright, for tests and for machines whose disks muster judges wrongly. It
// must be on a local disk.
const Env = "MUSTER_SPOOL"

// Dir is the directory of this user's queue on this machine. It is on a local disk: under
// $XDG_STATE_HOME if that is a writable one, else in /var/tmp. An existing one stays in place:
// it may have jobs.
func Dir() (string, error) {
	if dir := os.Getenv(Env); dir != "" {
		return validPath(filepath.Abs(dir))
	}
	name := filepath.Join("queue", machineName())
	private := filepath.Join("/var/tmp", "muster-"+strconv.Itoa(os.Getuid()))
	base := choose(userstate.Dir(os.Getenv), private, name)
	if base == private {
		if err := Private(base); err != nil {
			return "", fmt.Errorf("spool: %w", err)
		}
	}
	return validPath(filepath.Join(base, name), nil)
}

// validPath refuses a path that JSON would change.
func validPath(path string, err error) (string, error) {
	if err == nil && !utf8.ValidString(path) {
		return "", fmt.Errorf("spool: the path %q is not UTF-8; set %s to one that is", path, Env)
	}
	return path, err
}

// choose is the folder for a spool of this name: the user's state folder, or the private one.
func choose(ours, private, name string) string {
	if ours == "" || !onLocalDisk(ours) {
		return private
	}
	switch {
	case isDir(filepath.Join(ours, name)):
		return ours
	case isDir(filepath.Join(private, name)), !canMake(ours):
		return private
	}
	return ours
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// canMake reports whether a folder could be made, judging by the nearest one that exists.
func canMake(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			return info.IsDir() && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
		}
		up := filepath.Dir(dir)
		if up == dir || !os.IsNotExist(err) {
			return false
		}
		dir = up
	}
}

// machineName distinguishes machines that share a home, by host name and machine id.
func machineName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	if host == "" {
		host = "localhost"
	}
	id, err := os.ReadFile("/etc/machine-id") // machine-id(5)
	if err != nil {
		id = []byte(host)
	}
	sum := sha256.Sum256(id)
	return host + "-" + hex.EncodeToString(sum[:4])
}

// networkFS are the magic numbers of file systems that several machines see,
// or that may vanish under a process. statfs(2) and the file systems' own headers.
var networkFS = map[uint32]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2", 0x5346414F: "AFS", 0x6B414653: "AFS",
	0x0BD00BD0: "Lustre", 0x47504653: "GPFS", 0x65735546: "FUSE", 0x00C36400: "Ceph", 0x19830326: "BeeGFS",
	0xAAD7AAEA: "PanFS", 0x01021997: "9p", 0x73757245: "Coda", 0x01161970: "GFS2", 0x7461636F: "OCFS2", 0x20030528: "OrangeFS",
}

// onLocalDisk looks at the nearest folder that exists.
func onLocalDisk(dir string) bool {
	for {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			return networkFS[uint32(st.Type)] == ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// Private makes dir for this user alone, and refuses a folder that others can use.
func Private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("lstat %s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s %s", dir, notPrivate(dir, st))
	}
	return nil
}

// notPrivate is why others can use a folder, and what to do.
func notPrivate(dir string, st unix.Stat_t) string {
	switch {
	case int(st.Uid) != os.Getuid():
		return fmt.Sprintf("belongs to another user (uid %d)", st.Uid)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return "is a link, and must be a directory of this user alone"
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return "is not a directory"
	}
	return fmt.Sprintf("is open to other users (mode %04o); if it is yours: chmod 0700 %s", st.Mode&0o7777, dir)
}

// Elsewhere says how a user names another spool for a backend such as local.local.
func Elsewhere(backend string) string {
	block := fmt.Sprintf("name a directory on a local disk as spool in the block of backend.%s", backend)
	if strings.HasPrefix(backend, "local.") {
		return fmt.Sprintf("Fix that, or name another directory on a local disk, for every muster command alike: export %s=$HOME/.muster-queue. Or %s.", Env, block)
	}
	return "Fix that, or " + block + "."
}

// maxSocketPath leaves room below the 108 bytes of sockaddr_un. unix(7).
const maxSocketPath = 100

// Socket is where the queue of a spool listens: in the spool, or in a
// short private folder if that path is too long for a socket.
func Socket(spool string) (string, error) {
	if p := filepath.Join(spool, "sock"); len(p) <= maxSocketPath {
		return p, nil
	}
	dir := filepath.Join("/tmp", "muster-"+strconv.Itoa(os.Getuid()))
	if err := Private(dir); err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	sum := sha256.Sum256([]byte(spool))
	return filepath.Join(dir, "q-"+hex.EncodeToString(sum[:6])), nil
}
