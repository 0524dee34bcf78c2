package file

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/muster-run/muster/state/snapshot"
	"github.com/muster-run/muster/state/store"
)

// errBusy says that somebody else takes the lease at this moment.
var errBusy = errors.New("lease is changing hands")

// A lease that is held. Its file is kept open: as long as the lock's name
// leads to that very file, the lease is ours.
type lease struct {
	s     *Store
	terms store.Lease
	f     handle
	info  fs.FileInfo

	mu    sync.Mutex // guards what is overwritten in the file
	acked uint64

	lost chan struct{}
	once sync.Once
	stop context.CancelFunc
	done chan struct{} // the heartbeat has ended
}

// take takes the lease if it is free or its holder is proven dead.
func (s *Store) take(purpose string) (*lease, error) {
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return nil, s.writeError(s.dir, err)
	}
	old, err := s.readLease(s.lock())
	if err != nil {
		return nil, err
	}
	now := s.opt.Now().UTC().Round(0)
	if old != nil && old.held {
		if looks, proven := s.self.judge(old.lease, now); !proven || looks != dead {
			return nil, &store.LockedError{Lease: old.lease, Where: s.lock(), Alive: looks}
		}
	}
	fence, err := s.fence(old)
	if err != nil {
		return nil, err
	}
	l := &lease{s: s, lost: make(chan struct{}), done: make(chan struct{}), terms: store.Lease{
		ID: newID(), Fence: fence + 1, Who: s.opt.Who, Host: s.self.host, Machine: s.self.machine, Boot: s.self.place(),
		PID: s.self.pid, PIDStart: s.self.start, Since: now, Heartbeat: now, Purpose: purpose,
	}}
	if old != nil {
		l.acked = old.lease.Acked
	}
	if err := l.claim(old); err != nil {
		return nil, err
	}
	// Somebody may have come and gone since the fence was read.
	if again, err := s.fence(nil); err != nil || again > fence {
		l.release(old == nil)
		return nil, errors.Join(errBusy, err)
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	go l.beat(ctx)
	return l, nil
}

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
func (s *Store) fence(old *found) (uint64, error) {
	var highest uint64
	if old != nil {
		highest = old.lease.Fence
	}
	fences, err := s.journals()
	if err != nil {
		return 0, err
	}
	for _, fence := range fences {
		highest = max(highest, fence)
	}
	f, err := s.fs.OpenFile(s.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return highest, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read state: %w", err)
	}
	defer f.Close()
	head := make([]byte, 4096) // the fence stands in the first few fields
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

func (s *Store) replaceLease(temp string, old *found) error {
	if old == nil {
		err := s.exclusive(temp, s.lock())
		if errors.Is(err, fs.ErrExist) {
			return errBusy
		}
		return err
	}
	next := s.lock() + ".next"
	guard := temp + ".next"
	data, err := s.fs.ReadFile(temp)
	if err != nil {
		return err
	}
	f, err := s.create(guard, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return err
	}
	f.Close()
	defer s.fs.Remove(guard) // there only if it did not become NEXT
	if err := s.exclusive(guard, next); err != nil {
		if errors.Is(err, fs.ErrExist) {
			s.clearNext(next)
			return errBusy
		}
		return err
	}
	defer s.fs.Remove(next)
	now, err := s.readLease(s.lock())
	if err != nil {
		return err
	}
	if now == nil || !os.SameFile(now.info, old.info) || now.lease.ID != old.lease.ID {
		return errBusy
	}
	return s.fs.Rename(temp, s.lock())
}

// clearNext removes NEXT if who made it is proven dead.
func (s *Store) clearNext(next string) {
	old, err := s.readLease(next)
	if err != nil || old == nil {
		return
	}
	if looks, proven := s.self.judge(old.lease, s.opt.Now()); looks != dead || !proven {
		return
	}
	s.removeIf(next, old.info)
}

// removeIf removes a file that others may replace, if it is still this one.
func (s *Store) removeIf(path string, info fs.FileInfo) {
	aside := path + "." + newID()
	if s.fs.Rename(path, aside) != nil {
		return
	}
	if now, err := s.fs.Stat(aside); err == nil && !os.SameFile(now, info) {
		_ = s.fs.Link(aside, path) // not the one: put it back
	}
	_ = s.fs.Remove(aside)
}

// check says whether the lease is still ours. The name is opened anew, which
// makes NFS ask its server.
func (l *lease) check() error {
	select {
	case <-l.lost:
		return store.ErrLost
	default:
	}
	f, err := l.s.fs.OpenFile(l.s.lock(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return l.lose()
	}
	if err != nil {
		return fmt.Errorf("look after the lease: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look after the lease: %w", err)
	}
	if !os.SameFile(info, l.info) {
		return l.lose()
	}
	return nil
}

func (l *lease) lose() error {
	l.once.Do(func() { close(l.lost) })
	return store.ErrLost
}

// beat gives a sign of life until the lease is lost or given back.
func (l *lease) beat(ctx context.Context) {
	defer close(l.done)
	for pause(ctx, l.s.opt.Heartbeat) == nil {
		if err := l.check(); errors.Is(err, store.ErrLost) {
			return
		}
		if l.write(true) == nil {
			_ = l.f.Sync() // so that other hosts see it; a failure shows in the next Sync of the journal
		}
	}
}

// acknowledge notes the number of the last event made durable.
func (l *lease) acknowledge(seq uint64) error {
	l.mu.Lock()
	l.acked = seq
	l.mu.Unlock()
	return l.write(true)
}

// write overwrites the first line of the file.
func (l *lease) write(held bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.terms
	t.Acked, t.Heartbeat = l.acked, l.s.opt.Now()
	_, err := l.f.WriteAt([]byte(mark(t, held)), 0)
	return err
}

// release gives the lease back. If all is folded into the snapshot its file
// goes; else it stays, free, to say what was acknowledged.
func (l *lease) release(folded bool) {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
	defer l.f.Close()
	if l.check() != nil {
		return
	}
	if folded {
		l.s.removeIf(l.s.lock(), l.info)
		return
	}
	if l.write(false) == nil {
		_ = l.f.Sync()
	}
}
