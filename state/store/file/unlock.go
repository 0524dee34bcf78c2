package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-run/muster/state/store"
)

// Holder says who holds the lease, nil when nobody does.
func (s *Store) Holder(context.Context) (*store.LockedError, error) {
	old, err := s.readLease(s.lock())
	if err != nil || old == nil || !old.held {
		return nil, err
	}
	looks, _ := s.self.judge(old.lease, s.opt.Now().UTC())
	return &store.LockedError{Lease: old.lease, Where: s.lock(), Alive: looks}, nil
}

// ForceUnlock clears the lease with the given id, whoever holds it: a holder that is alive
// after all finds its lease gone and stops. The acknowledged events stay on record.
func (s *Store) ForceUnlock(ctx context.Context, id string) error {
	for _, path := range []string{s.lock() + ".next", s.lock()} {
		old, err := s.readLease(path)
		var corrupt *store.CorruptError
		switch {
		case errors.As(err, &corrupt):
			if data, e := s.fs.ReadFile(path); e == nil && damagedID(data) == id {
				return s.writeError(path, s.fs.Rename(path, path+"."+id))
			}
			return err
		case err != nil:
			return err
		case old == nil, path == s.lock() && !old.held:
			continue
		case old.lease.ID == id && path == s.lock():
			return s.clear(old)
		case old.lease.ID == id:
			s.removeIf(path, old.info)
			return nil
		case path == s.lock():
			l := old.lease
			return fmt.Errorf("unlock state: the lease held has id %s, of %s on %s (pid %d, %s), not %s", l.ID, l.Who, l.Host, l.PID, l.Purpose, id)
		}
	}
	return fmt.Errorf("unlock state: no lease is held")
}

// clear puts a free lease in place of one that is held.
func (ls *leases) clear(old *found) error {
	data, err := leaseBytes(old.lease, false)
	if err != nil {
		return err
	}
	temp := ls.lock() + "." + newID()
	f, err := ls.create(temp, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return ls.writeError(ls.lock(), err)
	}
	f.Close()
	if err := ls.replaceLease(temp, old); err != nil {
		_ = ls.fs.Remove(temp)
		return ls.writeError(ls.lock(), err)
	}
	return ls.writeError(ls.lock(), ls.syncDir())
}
