package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"unsafe"

	"github.com/muster-run/muster/state/codec"
	"github.com/muster-run/muster/state/journal"
	"github.com/muster-run/muster/state/store"
)

// historyLimit is how large the history may grow before it becomes the older one,
// muster.state.history.1, and a new one begins; the previous older one is dropped. The newer
// one always has the events that the backup needs to catch up.
const historyLimit = 128 << 20 // bytes

func (d *directory) older() string { return d.history() + ".1" }

// keep appends the lines of the journals, up to event limit, to the history. Those
// that are in it already, from a fold that did not come to its end, are left out.
func (sn *snapshots) keep(limit uint64) error {
	last, size, err := sn.reader.historyTail()
	if err != nil {
		return err
	}
	var n int64
	err = sn.reader.eachAccepted(last, limit, func(line string) error {
		n += int64(len(line) + 1)
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	if size > 0 && size+n > sn.opt.history {
		if err := sn.fs.Rename(sn.history(), sn.older()); err != nil {
			return err
		}
		size = 0
	}
	f, err := sn.fs.OpenFile(sn.history(), os.O_CREATE|os.O_RDWR, private)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil { // a line that was cut off
		return err
	}
	w := &batch{f: f, at: size}
	if err := sn.reader.eachAccepted(last, limit, w.add); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	return f.Sync()
}

// eachAccepted calls fn with the text of each accepted line in the journals, after
// one event and up to another. It reads them line by line.
func (r *reader) eachAccepted(after, limit uint64, fn func(line string) error) error {
	fences, err := r.journals()
	if err != nil {
		return err
	}
	var open []*journal.Reader
	for _, fence := range fences {
		f, err := r.fs.OpenFile(r.journal(fence), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // folded in this moment
		}
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		defer f.Close()
		j, err := journal.NewReader(r.journal(fence), f)
		if err != nil {
			return err
		}
		if err := named(j.Header, r.journal(fence), fence); err != nil {
			return err
		}
		open = append(open, j)
	}
	limits := make([]uint64, len(open)) // as loaded.accept has them
	for i := len(open) - 1; i >= 0; i-- {
		limits[i] = limit
		limit = min(limit, open[i].Header.After.Seq)
	}
	for i, j := range open {
		for {
			line, err := j.Next()
			if errors.Is(err, io.EOF) || err == nil && line.Seq > limits[i] {
				break
			}
			if err != nil {
				return err
			}
			if line.Seq <= after {
				continue
			}
			if err := fn(line.Text); err != nil {
				return err
			}
			after = line.Seq
		}
	}
	return nil
}

// A batch gathers lines into large writes.
type batch struct {
	f   handle
	at  int64
	buf []byte
}

func (b *batch) add(line string) error {
	b.buf = append(append(b.buf, line...), '\n')
	if len(b.buf) < 1<<20 {
		return nil
	}
	return b.flush()
}

func (b *batch) flush() error {
	n, err := b.f.WriteAt(b.buf, b.at)
	b.at, b.buf = b.at+int64(n), b.buf[:0]
	return err
}

// historyTail is the number of the last event in the history, and where its
// whole lines end. A last line that is damaged counts as none: the snapshot
// does not need it.
func (r *reader) historyTail() (last uint64, size int64, err error) {
	f, err := r.fs.OpenFile(r.history(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("read history: %w", err)
	}
	for window := int64(64 << 10); ; window *= 8 {
		from := max(info.Size()-window, 0)
		data := make([]byte, info.Size()-from)
		if n, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, fmt.Errorf("read history: %w", err)
		} else {
			data = data[:n]
		}
		text := string(data)
		end := strings.LastIndexByte(text, '\n')
		if end < 0 && from > 0 {
			continue
		}
		size = from + int64(end+1)
		begin := strings.LastIndexByte(text[:max(end, 0)], '\n')
		if begin < 0 && from > 0 {
			continue
		}
		if end > 0 {
			if line, why := journal.ParseLine(text[begin+1 : end]); why == "" {
				last = line.Seq
			}
		}
		return last, size, nil
	}
}

// replayHistory folds in the part of the history beyond the snapshot: there is
// one only if an older snapshot was put back.
func (r *reader) replayHistory(l *loaded, limit uint64) error {
	last, _, err := r.historyTail()
	if err != nil || last <= l.state.Seq {
		return err
	}
	var lines []journal.Line
	next := l.state.Seq + 1
	err = r.eachKept(r.history(), func(line journal.Line) error {
		if line.Seq < next || line.Seq > limit {
			return nil
		}
		if line.Seq > next {
			return &store.CorruptError{Path: r.history(), Why: fmt.Sprintf("events %d to %d are missing, which the snapshot needs to catch up", next, line.Seq-1),
				Way: fmt.Sprintf("Put a newer %s back, from a copy of your own; or set %s aside to go on from the snapshot as it is.", r.path, r.history())}
		}
		lines, next = append(lines, line), next+1
		return nil
	})
	if err != nil {
		return err
	}
	return apply(l.state, r.history(), lines)
}

// eachKept calls fn for each line of a file of the history.
func (r *reader) eachKept(path string, fn func(journal.Line) error) error {
	data, err := r.fs.ReadFile(path)
	if err != nil {
		return gone(err)
	}
	text := unsafe.String(unsafe.SliceData(data), len(data)) // shared: data does not change
	for at := int64(0); text != ""; {
		row, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return nil // cut off: its fold did not come to its end, and did it again
		}
		line, why := journal.ParseLine(row)
		if why != "" {
			return &store.CorruptError{Path: path, Offset: at, Why: why, Way: fmt.Sprintf(
				"The state itself does not need it. To read the rest, take the line out: \"grep -v\" its number, or set %s aside.", path)}
		}
		if err := fn(line); err != nil {
			return err
		}
		at, text = at+int64(len(row)+1), rest
	}
	return nil
}

var errEnough = errors.New("enough")

// History calls fn for every known event, oldest first: those of folded journals, then the
// journals.
func (s *Store) History(ctx context.Context, fn func(store.Record) bool) error {
	var last uint64
	var d codec.Decoder
	each := func(path string) func(journal.Line) error {
		return func(line journal.Line) error {
			if line.Seq <= last {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := line.Decode(&d)
			if err != nil {
				return undecoded(path, line, err)
			}
			last = line.Seq
			if !fn(store.Record{Fence: line.Fence, Seq: line.Seq, At: line.At, Event: e}) {
				return errEnough
			}
			return nil
		}
	}
	err := s.eachEvent(each)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (r *reader) eachEvent(each func(path string) func(journal.Line) error) error {
	l := &loaded{}
	if err := r.loadJournals(l); err != nil { // before the history, as they move there
		return err
	}
	for _, path := range []string{r.older(), r.history()} {
		if err := r.eachKept(path, each(path)); err != nil {
			return err
		}
	}
	l.accept(math.MaxUint64)
	for i, j := range l.journals {
		for _, line := range j.Lines[:l.accepted[i]] {
			if err := each(j.Path)(line); err != nil {
				return err
			}
		}
	}
	return nil
}
