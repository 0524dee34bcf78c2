package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/muster-run/muster/state/store"
)

// errBusy says that somebody else takes the lease at this moment.
var errBusy = errors.New("lease is changing hands")

// A lease that is held. Its file is kept open: as long as the lock's name
// leads to that very file, the lease is ours.
type lease struct {
	s     *leases
	terms store.Lease
	f     handle
	info  fs.FileInfo

	mu    sync.Mutex // guards overwrites of the file
	acked uint64

	lost chan struct{}
	once sync.Once
	stop context.CancelFunc
	done chan struct{} // the heartbeat has ended
}

// Leases are how holders of a state follow one another.
type leases struct {
	*directory
	self holder
}

// take takes the lease if it is free or its holder is proven dead.
func (ls *leases) take(purpose string) (*lease, error) {
	if err := ls.fs.MkdirAll(ls.dir, 0o700); err != nil {
		return nil, ls.writeError(ls.dir, err)
	}
	old, err := ls.readLease(ls.lock())
	if err != nil {
		return nil, err
	}
	now := ls.opt.Now().UTC().Round(0)
	if old != nil && old.held {
		if looks, proven := ls.self.judge(old.lease, now); !proven || looks != dead {
			return nil, &store.LockedError{Lease: old.lease, Where: ls.lock(), Alive: looks}
		}
	}
	fence, err := ls.fence(old)
	if err != nil {
		return nil, err
	}
	l := &lease{s: ls, lost: make(chan struct{}), done: make(chan struct{}), terms: store.Lease{
		ID: newID(), Fence: fence + 1, Who: ls.opt.Who, Host: ls.self.host, Machine: ls.self.machine, Boot: ls.self.place(),
		PID: ls.self.pid, PIDStart: ls.self.start, Since: now, Heartbeat: now, Purpose: purpose,
	}}
	if old != nil {
		l.acked = old.lease.Acked
	}
	if err := l.claim(old); err != nil {
		return nil, err
	}
	// Somebody may have come and gone since the fence was read.
	if again, err := ls.fence(nil); err != nil || again > fence {
		l.release(old == nil)
		return nil, errors.Join(errBusy, err)
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	go l.beat(ctx)
	return l, nil
}

// Holder is the id of the session's lease.
func (n *session) Holder() string { return n.l.terms.ID }

// check says whether the lease is still ours. It opens the name again, which
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

// release gives the lease back. If all is folded into the snapshot its file goes; else it
// stays, free, to record the acknowledged events.
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
