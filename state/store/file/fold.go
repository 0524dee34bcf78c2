package file

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/snapshot"
)

// Snapshots replace one another; their events move to the history.
type snapshots struct {
	*directory
	reader *reader
}

// writeSnapshot puts a new snapshot in place of the old one, which becomes the
// backup, and gives its size. At no moment is there none.
func (sn *snapshots) writeSnapshot(l *lease, st *state.State, fence uint64) (int64, error) {
	serial, muster, was := st.Serial, st.Muster, st.Fence
	st.Serial, st.Fence = serial+1, fence
	if sn.opt.Muster != "" {
		st.Muster = sn.opt.Muster
	}
	size, err := sn.replaceSnapshot(l, func(w io.Writer) error { return snapshot.Encode(w, st) })
	if err != nil {
		st.Serial, st.Muster, st.Fence = serial, muster, was
		return 0, sn.writeError(sn.path, err)
	}
	return size, nil
}

func (sn *snapshots) replaceSnapshot(l *lease, write func(io.Writer) error) (int64, error) {
	temp := sn.base + ".new." + l.terms.ID + ".json"
	f, err := sn.create(temp, func(w io.Writer) error {
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
		err = sn.swap(temp, l.terms.ID)
	}
	if err != nil {
		_ = sn.fs.Remove(temp)
		return 0, err
	}
	return info.Size(), nil
}

// swap makes the snapshot the backup, and temp the snapshot.
func (sn *snapshots) swap(temp, id string) error {
	aside := sn.backup() + "." + id
	switch err := sn.fs.Link(sn.path, aside); {
	case err == nil:
		if err := sn.fs.Rename(aside, sn.backup()); err != nil {
			return err
		}
		// rename(2) leaves both names where they are one file already: a holder
		// died when the backup was made and the snapshot not yet replaced.
		_ = sn.fs.Remove(aside)
	case errors.Is(err, fs.ErrNotExist):
	default: // no hard links here: the backup is a copy
		if err := sn.copyBackup(aside); err != nil {
			return err
		}
	}
	if err := sn.fs.Rename(temp, sn.path); err != nil {
		return err
	}
	return sn.syncDir()
}

func (sn *snapshots) copyBackup(aside string) error {
	data, err := sn.fs.ReadFile(sn.path)
	if err != nil {
		return err
	}
	f, err := sn.create(aside, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return err
	}
	f.Close()
	return sn.fs.Rename(aside, sn.backup())
}

// firstSnapshot writes a snapshot of nothing, with serial 0.
func (sn *snapshots) firstSnapshot() error {
	st := state.New("")
	st.Muster = sn.opt.Muster
	temp := sn.base + ".new.json"
	f, err := sn.create(temp, func(w io.Writer) error { return snapshot.Encode(w, st) })
	if err == nil {
		f.Close()
		if err = sn.fs.Rename(temp, sn.path); err == nil {
			err = sn.syncDir()
		}
	}
	return sn.writeError(sn.path, err)
}
