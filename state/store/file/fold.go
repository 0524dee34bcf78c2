package file

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/snapshot"
)

// writeSnapshot puts a new snapshot in place of the old one, which becomes the
// backup, and gives its size. At no moment is there none.
func (s *Store) writeSnapshot(l *lease, st *state.State, fence uint64) (int64, error) {
	serial, muster, was := st.Serial, st.Muster, st.Fence
	st.Serial, st.Fence = serial+1, fence
	if s.opt.Muster != "" {
		st.Muster = s.opt.Muster
	}
	size, err := s.replaceSnapshot(l, func(w io.Writer) error { return snapshot.Encode(w, st) })
	if err != nil {
		st.Serial, st.Muster, st.Fence = serial, muster, was
		return 0, s.writeError(s.path, err)
	}
	return size, nil
}

func (s *Store) replaceSnapshot(l *lease, write func(io.Writer) error) (int64, error) {
	temp := s.base + ".new." + l.terms.ID + ".json"
	f, err := s.create(temp, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = l.check() // at the last moment: a holder that was taken over keeps away
	}
	if err == nil {
		err = s.swap(temp, l.terms.ID)
	}
	if err != nil {
		_ = s.fs.Remove(temp)
		return 0, err
	}
	return info.Size(), nil
}

// swap makes the snapshot the backup, and temp the snapshot.
func (s *Store) swap(temp, id string) error {
	aside := s.backup() + "." + id
	switch err := s.fs.Link(s.path, aside); {
	case err == nil:
		if err := s.fs.Rename(aside, s.backup()); err != nil {
			return err
		}
		// rename(2) leaves both names where they are one file already: a holder
		// died when the backup was made and the snapshot not yet replaced.
		_ = s.fs.Remove(aside)
	case errors.Is(err, fs.ErrNotExist):
	default: // no hard links here: the backup is a copy
		if err := s.copyBackup(aside); err != nil {
			return err
		}
	}
	if err := s.fs.Rename(temp, s.path); err != nil {
		return err
	}
	return s.syncDir()
}

func (s *Store) copyBackup(aside string) error {
	data, err := s.fs.ReadFile(s.path)
	if err != nil {
		return err
	}
	f, err := s.create(aside, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return err
	}
	f.Close()
	return s.fs.Rename(aside, s.backup())
}

// firstSnapshot writes a snapshot of nothing, with serial 0.
func (s *Store) firstSnapshot() error {
	st := state.New("")
	st.Muster = s.opt.Muster
	temp := s.base + ".new.json"
	f, err := s.create(temp, func(w io.Writer) error { return snapshot.Encode(w, st) })
	if err == nil {
		f.Close()
		if err = s.fs.Rename(temp, s.path); err == nil {
			err = s.syncDir()
		}
	}
	return s.writeError(s.path, err)
}
