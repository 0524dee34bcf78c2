package file

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/muster-run/muster/state/snapshot"
)

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, crypto/rand
	return hex.EncodeToString(b[:])
}

func isID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 8
}

// fence is the highest there was: of the lease, the snapshot, and the names of
// journals.
func (ls *leases) fence(old *found) (uint64, error) {
	var highest uint64
	if old != nil {
		highest = old.lease.Fence
	}
	fences, err := ls.journals()
	if err != nil {
		return 0, err
	}
	for _, fence := range fences {
		highest = max(highest, fence)
	}
	f, err := ls.fs.OpenFile(ls.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return highest, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read state: %w", err)
	}
	defer f.Close()
	head := make([]byte, 4096) // the fence is in the first few fields
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, fmt.Errorf("read state: %w", err)
	}
	return max(highest, snapshot.FenceOf(head[:n])), nil
}

// claim puts the lease in place of old, which is free or dead, or where there
// is none. Only who holds the name NEXT may replace a lease, and does so only
// if it is still the one that was judged.
func (l *lease) claim(old *found) error {
	s := l.s
	temp := s.lock() + "." + l.terms.ID
	l.terms.Acked = l.acked
	data, err := leaseBytes(l.terms, true)
	if err != nil {
		return err
	}
	if l.f, err = s.create(temp, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return s.writeError(s.lock(), err)
	}
	if l.info, err = l.f.Stat(); err == nil {
		err = s.replaceLease(temp, old)
	}
	if err != nil {
		l.f.Close()
		_ = s.fs.Remove(temp)
		if errors.Is(err, errBusy) {
			return err
		}
		return s.writeError(s.lock(), err)
	}
	if err := s.syncDir(); err != nil {
		l.release(old == nil)
		return s.writeError(s.lock(), err)
	}
	return nil
}

func (ls *leases) replaceLease(temp string, old *found) error {
	if old == nil {
		err := ls.exclusive(temp, ls.lock())
		if errors.Is(err, fs.ErrExist) {
			return errBusy
		}
		return err
	}
	next := ls.lock() + ".next"
	guard := temp + ".next"
	data, err := ls.fs.ReadFile(temp)
	if err != nil {
		return err
	}
	f, err := ls.create(guard, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return err
	}
	f.Close()
	defer ls.fs.Remove(guard) // there only if it did not become NEXT
	if err := ls.exclusive(guard, next); err != nil {
		if errors.Is(err, fs.ErrExist) {
			ls.clearNext(next)
			return errBusy
		}
		return err
	}
	defer ls.fs.Remove(next)
	now, err := ls.readLease(ls.lock())
	if err != nil {
		return err
	}
	if now == nil || !os.SameFile(now.info, old.info) || now.lease.ID != old.lease.ID {
		return errBusy
	}
	return ls.fs.Rename(temp, ls.lock())
}

// clearNext removes NEXT if who made it is proven dead.
func (ls *leases) clearNext(next string) {
	old, err := ls.readLease(next)
	if err != nil || old == nil {
		return
	}
	if looks, proven := ls.self.judge(old.lease, ls.opt.Now()); looks != dead || !proven {
		return
	}
	ls.removeIf(next, old.info)
}

// removeIf removes a file that others may replace, if it is still this one.
func (d *directory) removeIf(path string, info fs.FileInfo) {
	aside := path + "." + newID()
	if d.fs.Rename(path, aside) != nil {
		return
	}
	if now, err := d.fs.Stat(aside); err == nil && !os.SameFile(now, info) {
		_ = d.fs.Link(aside, path) // not the one: put it back
	}
	_ = d.fs.Remove(aside)
}
