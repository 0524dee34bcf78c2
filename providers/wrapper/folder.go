package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/muster-run/muster/providers"
)

// A Folder is a running job's directory in a spool:
//
//	record     claim and end; see Record
//	cmd        the command, byte for byte
//	before     sourced first: secrets and setup
//	setup.N    the backend's setup, then the job's
//	list.NAME  an input list, one path a line, when the job names no place for it
type Folder string

// Record is the path of the job's record.
func (f Folder) Record() string { return filepath.Join(string(f), "record") }

// recordHead opens a record: the version of its format.
const recordHead = "1\n"

// A Shelf makes job folders below one directory. A folder appears whole, by a
// rename, and those of jobs that have ended are used again: making and
// removing files is what costs most in a short job's life. The zero Shelf
// with a Dir works; it may be used concurrently.
type Shelf struct {
	Dir string

	mu    sync.Mutex
	spare []string
	made  int
}

// maxSpare bounds the folders kept for later.
const maxSpare = 64

// Fill puts a job's folder in place; secrets is the file of its exported
// secrets, "" if it has none. A folder that is there was put there by an
// earlier queue, whole, and its wrapper may be reading it: it stays as it is.
// Simple says that the folder may be given back.
func (s *Shelf) Fill(f Folder, j *providers.Job, secrets string) (simple bool, err error) {
	if _, err := os.Stat(string(f)); err == nil {
		return false, nil
	}
	dir, err := s.take()
	if err != nil {
		return false, fmt.Errorf("job folder: %w", err)
	}
	if err = put(filepath.Join(dir, "record"), recordHead); err == nil && len(j.Argv) == 0 {
		err = put(filepath.Join(dir, "cmd"), j.Shell)
	}
	if err == nil && (secrets != "" || len(j.Setup) > 0) {
		err = before(dir, j, secrets)
	}
	if err == nil {
		err = os.Rename(dir, string(f))
	}
	if err != nil {
		os.RemoveAll(dir)
		return false, fmt.Errorf("job folder: %w", err)
	}
	return secrets == "" && len(j.Setup) == 0, nil
}

// take finds a spare folder or makes one.
func (s *Shelf) take() (string, error) {
	s.mu.Lock()
	if n := len(s.spare); n > 0 {
		dir := s.spare[n-1]
		s.spare = s.spare[:n-1]
		s.mu.Unlock()
		return dir, nil
	}
	s.made++
	dir := filepath.Join(s.Dir, fmt.Sprintf("spare.%d.%d", os.Getpid(), s.made))
	s.mu.Unlock()
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		os.RemoveAll(dir)
		err = os.Mkdir(dir, 0o700)
	}
	return dir, err
}

// Return takes the folder of a job that has ended: a simple one is kept for
// another job, any other removed.
func (s *Shelf) Return(f Folder, simple bool) {
	s.mu.Lock()
	keep := simple && len(s.spare) < maxSpare
	s.made++
	dir := filepath.Join(s.Dir, fmt.Sprintf("spare.%d.%d", os.Getpid(), s.made))
	s.mu.Unlock()
	if !keep || os.Rename(string(f), dir) != nil {
		os.RemoveAll(string(f))
		return
	}
	s.mu.Lock()
	s.spare = append(s.spare, dir)
	s.mu.Unlock()
}

// put writes a file over one that may be there. It is never truncated to
// nothing, which makes ext4 write to the disk at once. ext4(5), auto_da_alloc.
func put(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Truncate(int64(len(text))), f.Close())
}

// before writes what is sourced ahead of the command.
func before(dir string, j *providers.Job, secrets string) error {
	var b strings.Builder
	if secrets != "" {
		b.WriteString(". " + quote(secrets) + "\n")
	}
	for i, s := range j.Setup {
		if strings.TrimSpace(s) == "" {
			continue
		}
		name := fmt.Sprintf("setup.%d", i)
		if err := put(filepath.Join(dir, name), s+"\n"); err != nil {
			return err
		}
		fmt.Fprintf(&b, ". \"$MUSTER_JOB/%s\"\nset -- \"$?\" \"$@\"; [ \"$1\" -eq 0 ] || exit \"$1\"; shift\n", name)
	}
	return put(filepath.Join(dir, "before"), b.String())
}

// Exports is shell source that exports variables, whatever their bytes.
func Exports(vars []providers.EnvVar) []byte {
	var b strings.Builder
	for _, v := range vars {
		b.WriteString("export " + v.Name + "=" + quote(v.Value) + "\n")
	}
	return []byte(b.String())
}

// quote makes one word of the shell's of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
