package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/image"
)

// A Folder is a running job's directory in a spool:
//
//	record     claim and end; see Record
//	cmd        the command, byte for byte
//	before     sourced first: secrets and setup
//	image      runs the command in a container; see package image
//	launch     starts the command on all nodes; see launcher
//	rank       one process that it starts
//	setup.N    the backend's setup, then the job's
//	list.NAME  an input list, one path a line, when the job names no place for it
type Folder string

// Record is the path of the job's record.
func (f Folder) Record() string { return filepath.Join(string(f), "record") }

// recordHead opens a record: the version of its format.
const recordHead = "1\n"

// A FolderPool makes job folders below one directory, and reuses those of ended jobs: making
// and removing files costs most in a short job's life. The zero FolderPool with a Dir works;
// it may be used concurrently.
type FolderPool struct {
	Dir string

	mu    sync.Mutex
	spare []spare
}

// spare is a folder that may be used again: of a simple job, under its old
// name, until another takes it.
type spare struct {
	dir string
	cmd int // length of the text in cmd, -1 = unknown
}

// maxSpare bounds the folders kept for later.
const maxSpare = 64

// Fill puts a job's folder in place; secrets is the file of its exported
// secrets, "" if it has none. Again says that an earlier queue may have put it
// there, and that a wrapper may be reading it: then it stays as it is. Simple
// says that the folder may be given back.
//
// The record is written last. Until then it is missing, or holds the claim of another launch:
// nobody can claim an incomplete folder.
func (s *FolderPool) Fill(f Folder, j *providers.Job, secrets string, again bool) (simple bool, err error) {
	if again {
		if _, err := os.Stat(f.Record()); err == nil {
			return false, nil
		}
		os.RemoveAll(string(f)) // begun, and never whole
	}
	old, err := s.take(f)
	if err != nil {
		return false, fmt.Errorf("job folder: %w", err)
	}
	if len(j.Argv) == 0 {
		err = put(filepath.Join(string(f), "cmd"), j.Shell, len(j.Shell) != old.cmd)
	}
	if err == nil && (secrets != "" || len(j.Setup) > 0) {
		err = before(string(f), j, secrets)
	}
	if err == nil && j.Image != "" {
		if why := image.Wrong(j); why != "" {
			err = errors.New(why)
		} else {
			err = put(filepath.Join(string(f), "image"), image.Script(j), false)
		}
	}
	if err == nil && j.Launched() {
		err = errors.Join(put(filepath.Join(string(f), "launch"), launcher(j), false), put(filepath.Join(string(f), "rank"), rank(j), false))
	}
	if err == nil && old.dir != "" {
		err = os.Truncate(f.Record(), int64(len(recordHead)))
	} else if err == nil {
		fresh := filepath.Join(string(f), "record.new")
		if err = put(fresh, recordHead, false); err == nil {
			err = os.Rename(fresh, f.Record())
		}
	}
	if err != nil {
		os.RemoveAll(string(f))
		return false, fmt.Errorf("job folder: %w", err)
	}
	return secrets == "" && len(j.Setup) == 0 && j.Image == "" && !j.Launched(), nil
}

// take gives f a spare folder, or a new one.
func (s *FolderPool) take(f Folder) (spare, error) {
	s.mu.Lock()
	var old spare
	if n := len(s.spare); n > 0 {
		old = s.spare[n-1]
		s.spare = s.spare[:n-1]
	}
	s.mu.Unlock()
	if old.dir != "" && os.Rename(old.dir, string(f)) == nil {
		return old, nil
	}
	err := os.Mkdir(string(f), 0o700)
	if errors.Is(err, os.ErrExist) {
		os.RemoveAll(string(f))
		err = os.Mkdir(string(f), 0o700)
	}
	return spare{cmd: -1}, err
}

// Return takes the folder of a job that has ended: a simple one is kept for
// another job, any other removed.
func (s *FolderPool) Return(f Folder, j *providers.Job, simple bool) {
	s.mu.Lock()
	keep := simple && len(s.spare) < maxSpare
	if keep {
		n := len(j.Shell)
		if len(j.Argv) > 0 {
			n = -1
		}
		s.spare = append(s.spare, spare{dir: string(f), cmd: n})
	}
	s.mu.Unlock()
	if !keep {
		os.RemoveAll(string(f))
	}
}

// Clear removes the spare folders.
func (s *FolderPool) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.spare {
		os.RemoveAll(old.dir)
	}
	s.spare = nil
}

// put overwrites a file, which may be longer. It never truncates it to nothing, because ext4
// would then write to the disk at once. ext4(5), auto_da_alloc.
func put(path, text string, longer bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if longer && err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}

// before writes the script that is sourced ahead of the command.
func before(dir string, j *providers.Job, secrets string) error {
	var b strings.Builder
	if secrets != "" {
		b.WriteString(". " + shell.Enclose(secrets) + "\n")
	}
	for i, s := range j.Setup {
		if strings.TrimSpace(s) == "" {
			continue
		}
		name := fmt.Sprintf("setup.%d", i)
		if err := put(filepath.Join(dir, name), s+"\n", true); err != nil {
			return err
		}
		fmt.Fprintf(&b, ". \"$MUSTER_JOB/%s\"\nset -- \"$?\" \"$@\"; [ \"$1\" -eq 0 ] || exit \"$1\"; shift\n", name)
	}
	return put(filepath.Join(dir, "before"), b.String(), true)
}

// Exports is shell source that exports variables, whatever their bytes.
func Exports(vars []providers.EnvVar) []byte {
	var b strings.Builder
	for _, v := range vars {
		b.WriteString("export " + v.Name + "=" + shell.Enclose(v.Value) + "\n")
	}
	return []byte(b.String())
}
