package file

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/muster-run/muster/state/snapshot"
	"github.com/muster-run/muster/state/store"
)

// Pull returns the snapshot's bytes, with the journals folded in.
func (s *Store) Pull(ctx context.Context) ([]byte, error) {
	st, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return snapshot.Bytes(st)
}

// Push replaces the snapshot by one that may have been edited; its digest need not match.
// Without force it must have the state's lineage, and a serial that is not smaller. With force
// a state that cannot be read is replaced, too: the old one stays beside it, as .replaced.
func (s *Store) Push(ctx context.Context, data []byte, force bool) error {
	st, err := snapshot.Read("the pushed state", data)
	if corrupt := new(store.CorruptError); errors.As(err, &corrupt) {
		corrupt.Way = "Nothing was changed here. Push a file that \"muster state pull\" wrote, or the .backup beside a state."
	}
	if err != nil {
		return err
	}
	l, err := s.take("state push")
	if err != nil {
		return err
	}
	folded := false
	defer func() { l.release(folded) }()
	now, err := s.load(math.MaxUint64)
	switch {
	case err != nil && !force:
		return err
	case err == nil && !force && now.state.Lineage != "" && now.state.Lineage != st.Lineage:
		return fmt.Errorf("push state: it has lineage %q, the state here has %q: it is another campaign's", st.Lineage, now.state.Lineage)
	case err == nil && !force && st.Serial < now.state.Serial:
		return fmt.Errorf("push state: it has serial %d, the state here has %d: it is older", st.Serial, now.state.Serial)
	}
	var last uint64
	if err == nil {
		last = now.state.Seq
		st.Serial = max(st.Serial, now.state.Serial)
	} else if err := s.setAside(); err != nil {
		return s.writeError(s.path, err)
	}
	kept, _, _ := s.historyTail()
	// One number is left out, so that no older event is ever taken to lead up to the pushed
	// state.
	st.Seq = max(last, kept, l.acked, st.Seq) + 1
	// Backends that were given a higher number than any holder here had refuse a smaller one.
	if _, err := s.writeSnapshot(l, st, max(l.terms.Fence, st.Fence)); err != nil {
		return err
	}
	if now != nil {
		if err := s.keep(math.MaxUint64); err != nil {
			return s.writeError(s.history(), err)
		}
	}
	s.sweep(l.terms.Fence)
	s.keepGlance(st)
	folded = true
	return nil
}

// setAside keeps files that cannot be read under another name.
func (sn *snapshots) setAside() error {
	fences, err := sn.journals()
	if err != nil {
		return err
	}
	stamp := ".replaced-" + sn.opt.Now().UTC().Format("20060102T150405Z")
	paths := []string{sn.path, sn.history(), sn.older()}
	for _, f := range fences {
		paths = append(paths, sn.journal(f))
	}
	for _, p := range paths {
		if err := gone(sn.fs.Rename(p, p+stamp)); err != nil {
			return err
		}
	}
	return nil
}
