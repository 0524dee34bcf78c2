package file

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strings"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
	"github.com/muster-run/muster/state/snapshot"
)

func (d *directory) glance() string { return d.base + ".glance" }

// keepGlance puts the glance of a state beside the snapshot that was just
// written of it, or takes away one that nothing could be seen at. It is worth
// no error: without it the snapshot is read.
func (sn *snapshots) keepGlance(st *state.State) {
	if !sn.writeGlance(st) {
		_ = sn.fs.Remove(sn.glance())
	}
}

func (sn *snapshots) writeGlance(st *state.State) bool {
	of, ok := sn.reader.measure()
	if !ok {
		return false
	}
	data, err := glance.Encode(st, of)
	if err != nil || data == nil {
		return false
	}
	temp := sn.base + ".new." + newID() // swept with what else holders leave half-made
	f, err := sn.fs.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, private)
	if err != nil {
		return false
	}
	_, err = f.Write(data) // no sync: one that a crash breaks is seen to be broken
	if err := errors.Join(err, f.Close()); err == nil && sn.fs.Rename(temp, sn.glance()) == nil {
		return true
	}
	_ = sn.fs.Remove(temp)
	return false
}

// Glance gives the part of the state that says that its jobs ended well, their files, and how
// a few others stopped, if that is all of it: nothing was recorded since, and the snapshot is,
// byte for byte, the one it was taken of. Read has the rest, and reports errors. It takes no
// lock.
func (s *Store) Glance(ctx context.Context) (*glance.Glance, bool) {
	held, err := s.readLease(s.lock()) // in the order of load, and for its reasons
	if err != nil {
		return nil, false
	}
	l := &loaded{}
	if !s.journalsShort() || s.loadJournals(l) != nil {
		return nil, false
	}
	data, err := s.fs.ReadFile(s.glance())
	if err != nil {
		return nil, false
	}
	g, err := glance.Read(data)
	if err != nil {
		return nil, false
	}
	if now, ok := s.measure(); !ok || now != g.Of || ctx.Err() != nil {
		return nil, false
	}
	l.state, l.folded = g.State, g.State.Seq
	last, _, err := s.historyTail()
	if err != nil || last > l.folded || held != nil && held.lease.Acked > l.folded || s.outlived(l) != nil {
		return nil, false
	}
	return g, l.empty()
}

// empty reports whether the journals add nothing to the snapshot.
func (l *loaded) empty() bool {
	l.accept(math.MaxUint64)
	for i, j := range l.journals {
		a, b := j.Header.Lineage, l.state.Lineage
		if j.Header.After.Seq+uint64(l.accepted[i]) > l.state.Seq || a != "" && b != "" && a != b {
			return false
		}
	}
	return true
}

// shortJournal is the size of a journal that holds its header, and few events
// if any.
const shortJournal = 4 << 10 // bytes

// journalsShort reports whether the journals are worth a look.
func (r *reader) journalsShort() bool {
	fences, err := r.journals()
	for _, fence := range fences {
		if info, e := r.fs.Stat(r.journal(fence)); e != nil || info.Size() > shortJournal {
			return false
		}
	}
	return err == nil
}

// measured is how much of the snapshot is read at a time; it stays in a
// processor's cache until its checksum is taken.
const measured = 128 << 10 // bytes

// measure reads the snapshot's every byte and keeps none of them.
func (r *reader) measure() (of glance.Snapshot, ok bool) {
	f, err := r.fs.OpenFile(r.path, os.O_RDONLY, 0)
	if err != nil {
		return of, false
	}
	defer f.Close()
	buf := make([]byte, snapshot.SealLen+measured) // the end of the bytes before, and the new ones
	for {
		n, err := f.Read(buf[snapshot.SealLen:])
		of.Size += int64(n)
		of.Sum = crc32.Update(of.Sum, glance.Table, buf[snapshot.SealLen:snapshot.SealLen+n])
		copy(buf, buf[n:n+snapshot.SealLen])
		if err == io.EOF {
			of.Seal = string(buf[:snapshot.SealLen])
			return of, strings.HasSuffix(of.Seal, "\n")
		}
		if err != nil {
			return of, false
		}
	}
}
