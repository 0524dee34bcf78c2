package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/journal"
	"github.com/muster-run/muster/state/store"
)

const (
	firstWait = time.Second      // before the lease is asked for again
	longWait  = 16 * time.Second // its maximum
)

// Acquire takes the lease. Who died on this machine is taken over from at
// once; who holds it otherwise is waited for, up to wait.
func (s *Store) Acquire(ctx context.Context, purpose string, wait time.Duration) (store.Session, error) {
	end := time.Now().Add(wait)
	delay, busy := firstWait, 0
	for {
		l, err := s.take(purpose)
		if err == nil {
			return s.begin(l)
		}
		var locked *store.LockedError
		switch left := time.Until(end); {
		case errors.Is(err, errBusy) && busy < 20: // this passes in moments
			busy++
			err = pause(ctx, time.Duration(busy)*5*time.Millisecond)
		case errors.As(err, &locked) && left > 0:
			err = pause(ctx, min(delay, left))
			delay = min(2*delay, longWait)
		}
		if err != nil {
			return nil, s.unreadable(err)
		}
	}
}

// A session is the lease held. One goroutine uses it.
type session struct {
	s        *Store
	l        *lease
	st       *state.State
	w        *journal.Writer
	pending  *loaded // journals of earlier holders that are not folded yet
	after    uint64  // event that our journal comes after
	snapshot int64   // bytes of the snapshot
	foldAt   int64   // bytes of journal at which a fold that failed is tried again
	failed   error   // the error that stopped us; nothing is written after it
	closed   bool
}

var _ store.Session = (*session)(nil)

// begin reads the state under the lease and opens a journal. On an error the lease is given
// back, with its acknowledged events.
func (s *Store) begin(l *lease) (store.Session, error) {
	n, err := s.open(l)
	if err != nil {
		l.release(false)
		return nil, err
	}
	return n, nil
}

func (s *Store) open(l *lease) (*session, error) {
	got, err := s.load(math.MaxUint64)
	if err != nil {
		return nil, err
	}
	s.sweepTemps()
	n := &session{s: s, l: l, st: got.state, pending: got, after: got.state.Seq, snapshot: got.snapshot}
	if got.snapshot == 0 { // the first: there shall be a backup to go back to, always
		if err := s.firstSnapshot(); err != nil {
			return nil, err
		}
	}
	if err := l.acknowledge(n.after); err != nil {
		return nil, s.writeError(s.lock(), err)
	}
	if n.w, err = s.newJournal(n, s.exclusive); err == nil {
		if err = s.syncDir(); err != nil {
			n.w.Close()
		}
	}
	if err != nil {
		return nil, s.writeError(s.journal(l.terms.Fence), err)
	}
	return n, nil
}

// newJournal makes the session's journal, whole before it has its name.
func (s *Store) newJournal(n *session, name func(temp, path string) error) (*journal.Writer, error) {
	fence := n.l.terms.Fence
	head, err := journal.Header{
		Fence: fence, After: journal.Position{Fence: n.st.Fence, Seq: n.st.Seq}, Lineage: n.st.Lineage,
		Muster: s.opt.Muster, Who: s.opt.Who, Host: s.self.host, At: s.opt.Now().UTC().Round(0),
	}.Bytes()
	if err != nil {
		return nil, err
	}
	temp := s.base + ".new." + n.l.terms.ID
	f, err := s.create(temp, func(w io.Writer) error { _, err := w.Write(head); return err })
	if err != nil {
		return nil, err
	}
	if err = name(temp, s.journal(fence)); err != nil {
		f.Close()
		_ = s.fs.Remove(temp)
		return nil, err
	}
	return journal.NewWriter(f, fence, n.st.Seq, int64(len(head))), nil
}

func (n *session) State() *state.State   { return n.st }
func (n *session) Fence() uint64         { return n.l.terms.Fence }
func (n *session) Lost() <-chan struct{} { return n.l.lost }

var errClosed = errors.New("session is closed")

// stopped is why nothing more is written, if so.
func (n *session) stopped() error {
	if n.failed != nil {
		return n.failed
	}
	if n.closed {
		return errClosed
	}
	select {
	case <-n.l.lost:
		return store.ErrLost
	default:
		return nil
	}
}

// Append folds events into the state and queues them. One that cannot be
// written as JSON is refused, with those after it, and changes nothing.
func (n *session) Append(events ...state.Event) error {
	if err := n.stopped(); err != nil {
		return err
	}
	now := n.s.opt.Now()
	for _, e := range events {
		as, err := n.w.Append(now, e)
		if err != nil {
			return fmt.Errorf("append to %s: %w", n.s.journal(n.Fence()), err)
		}
		n.st.Apply(as)
		n.st.Seq, n.st.Fence = n.w.Seq(), n.Fence()
	}
	return nil
}

// Sync makes everything appended durable. It acknowledges only events that were durable while
// the lease was still ours: the next holder reads the journal afterwards, and finds them.
func (n *session) Sync(ctx context.Context) error {
	if err := n.stopped(); err != nil {
		return err
	}
	if n.w.Seq() == n.w.Acked() {
		return nil
	}
	if err := n.w.Sync(); err != nil {
		return n.fail(n.s.writeError(n.s.journal(n.Fence()), err))
	}
	if err := n.l.check(); err != nil {
		return n.fail(err)
	}
	if err := n.l.acknowledge(n.w.Acked()); err != nil {
		return n.fail(n.s.writeError(n.s.lock(), err))
	}
	if size := n.w.Size(); size > max(n.s.opt.FoldAbove, n.snapshot, n.foldAt) {
		err := n.refold()
		if errors.Is(err, store.ErrLost) {
			return n.fail(err)
		}
		if err != nil { // appended events are durable all the same: the journal only grows
			n.foldAt = 2 * size
		}
	}
	return nil
}

// fail stops the session for good. The state becomes again that of the files, so that nobody
// goes on from unrecorded events.
func (n *session) fail(err error) error {
	n.failed = err
	if errors.Is(err, store.ErrLost) {
		return err
	}
	if l, e := n.s.load(n.w.Acked()); e == nil && l.state.Seq == n.w.Acked() {
		*n.st = *l.state
	}
	return err
}

// Close folds the journal into a new snapshot and gives the lease back. After
// an error everything acknowledged is in the journal still; the next holder
// folds it.
func (n *session) Close(ctx context.Context) error {
	if n.closed {
		return nil
	}
	err := n.stopped()
	if err == nil {
		err = n.Sync(ctx)
	}
	n.closed = true
	defer n.w.Close()
	if err != nil {
		n.l.release(false)
		return err
	}
	if n.idle() {
		n.s.sweep(n.Fence())
		n.l.release(true)
		return nil
	}
	if err := n.fold(); err != nil {
		n.l.release(false)
		return err
	}
	_ = n.s.fs.Remove(n.s.journal(n.Fence()))
	n.s.sweep(n.Fence())
	n.l.release(true)
	return nil
}

// idle reports whether there is nothing to fold. Then our journal, which is
// empty, stays: its name keeps the fence.
func (n *session) idle() bool { return n.st.Seq == n.pending.folded && n.w.Acked() == n.after }

// refold folds while the lease is held, and begins a new journal. If it fails
// half-way the old journal continues; a reader skips events that the snapshot has
// already.
func (n *session) refold() error {
	if err := n.fold(); err != nil {
		return err
	}
	w, err := n.s.newJournal(n, n.s.fs.Rename)
	if err != nil {
		return n.s.writeError(n.s.journal(n.Fence()), err)
	}
	_ = n.w.Close()
	n.w, n.after, n.foldAt = w, n.st.Seq, 0
	if err := n.s.syncDir(); err != nil {
		// After a crash the name might lead to the old journal again. Durable events stay;
		// nothing may follow.
		n.failed = n.s.writeError(n.s.journal(n.Fence()), err)
		return nil
	}
	n.s.sweep(n.Fence())
	return nil
}

// fold writes the snapshot and moves its events to the history.
func (n *session) fold() error {
	size, err := n.s.writeSnapshot(n.l, n.st, n.Fence())
	if err != nil {
		return err
	}
	n.snapshot = size
	if err := n.s.keep(n.st.Seq); err != nil {
		return n.s.writeError(n.s.history(), err)
	}
	n.pending = &loaded{folded: n.st.Seq}
	n.s.keepGlance(n.st)
	return nil
}

// sweep removes journals of earlier holders: they are folded.
func (sn *snapshots) sweep(fence uint64) {
	fences, _ := sn.journals()
	for _, f := range fences {
		if f < fence {
			_ = sn.fs.Remove(sn.journal(f))
		}
	}
	_ = sn.syncDir()
}
