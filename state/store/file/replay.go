package file

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
	"github.com/muster-run/muster/state/journal"
	"github.com/muster-run/muster/state/store"
)

// replay folds the journals in. Of each only the part counts that the holders
// after it accepted: a holder that lost its lease may have gone on writing.
func (r *reader) replay(l *loaded, limit uint64) error {
	l.accept(limit)
	for i, j := range l.journals {
		if after := j.Header.After.Seq; after > l.state.Seq {
			return r.gap(l, i, after)
		}
		lines := j.Lines[:l.accepted[i]]
		if skip := l.state.Seq - j.Header.After.Seq; skip < uint64(len(lines)) {
			if err := apply(l.state, j.Path, lines[skip:]); err != nil {
				return err
			}
		}
		if a, b := j.Header.Lineage, l.state.Lineage; a != "" && b != "" && a != b {
			return &store.CorruptError{Path: j.Path, Why: "it belongs to another state, of lineage " + a, Way: "Move it back to where it came from."}
		}
	}
	return nil
}

// accept counts how many lines of each journal are accepted, up to event
// limit.
func (l *loaded) accept(limit uint64) {
	l.accepted = make([]int, len(l.journals))
	for i := len(l.journals) - 1; i >= 0; i-- {
		j := l.journals[i]
		l.accepted[i] = len(j.Lines)
		if j.Last() > limit {
			l.accepted[i] = int(max(limit, j.Header.After.Seq) - j.Header.After.Seq)
		}
		limit = min(limit, j.Header.After.Seq)
	}
}

// gap says which events should stand before journal i and are not there.
func (r *reader) gap(l *loaded, i int, after uint64) error {
	e := &store.CorruptError{Path: r.path, Offset: l.snapshot}
	if i > 0 {
		e.Path, e.Offset = l.journals[i-1].Path, l.journals[i-1].Size
	}
	e.Why = fmt.Sprintf("events %d to %d are missing, which %s comes after", l.state.Seq+1, after, l.journals[i].Path)
	e.Way = fmt.Sprintf("Put the missing part back from a copy of your own. Without one, copy the directory aside, then run \"rm %s\" and \"rm -f %s\": "+
		"its records are lost, too. %s", l.journals[i].Path, r.lock(), store.Forgotten)
	return e
}

// perPart is how many lines a core decodes in one go.
const perPart = 512

// decoded is a part of the lines.
type decoded struct {
	events []state.Event
	err    error
}

// apply folds lines into the state; while it does, the other cores decode the
// lines that follow.
func apply(st *state.State, path string, lines []journal.Line) error {
	parts := make(chan chan decoded, 2*runtime.GOMAXPROCS(0)) // in order; its room bounds the parts decoded ahead
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(parts)
		for rest := range slices.Chunk(lines, perPart) {
			part := make(chan decoded, 1)
			select {
			case parts <- part:
				go func() { part <- decode(path, rest) }()
			case <-stop:
				return
			}
		}
	}()
	for part := range parts {
		d := <-part
		if d.err != nil {
			return d.err
		}
		for _, e := range d.events {
			st.Apply(e)
			st.Seq, st.Fence = lines[0].Seq, lines[0].Fence
			lines = lines[1:]
		}
	}
	return nil
}

func decode(path string, lines []journal.Line) decoded {
	var d codec.Decoder
	out := decoded{events: make([]state.Event, len(lines))}
	for i, l := range lines {
		if out.events[i], out.err = l.Decode(&d); out.err != nil {
			out.err = undecoded(path, l, out.err)
			break
		}
	}
	return out
}

// undecoded: the checksum held, so the line is as it was written, but not for
// this muster.
func undecoded(path string, l journal.Line, err error) error {
	return fmt.Errorf("read event %d of %s: %w; was it written by a newer muster? Use that one", l.Seq, path, err)
}
