// Package journal keeps an append-only log: one entry a line, each with a
// checksum. Acknowledged entries are on disk. An entry cut short by a crash is
// dropped; any other damage is an error.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A Log holds entries of one type as JSON. An appended entry is in the file when Flush
// returns, so that it survives the process, and on disk when Sync returns, so that it survives
// the machine. A write without room is undone and tried again later.
type Log[E any] struct {
	mu      sync.Mutex
	path    string
	f       *os.File
	good    int64 // bytes in the file that are whole entries
	pending []byte
	scratch bytes.Buffer

	syncing sync.Mutex // one fsync at a time, which serves all that wait
	written int64      // bytes ever flushed
	synced  int64      // bytes of them known to be on the disk
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Open reads every entry of a log and readies it for appending. An
// entry cut short at the end is dropped; damage before a whole entry is an error.
func Open[E any](path string, each func(E) error) (*Log[E], error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open queue log: %w", err)
	}
	good, err := replay(f, each)
	if err == nil {
		err = f.Truncate(good)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("queue log %s: %w", path, err)
	}
	return &Log[E]{path: path, f: f, good: good}, nil
}

// replay returns how many bytes from the start are whole entries.
func replay[E any](r io.Reader, each func(E) error) (int64, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	var good int64
	damaged := int64(-1)
	for at := 0; at < len(b); {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			break
		}
		var e E
		if err := parseLine(b[at:at+n], &e); err != nil {
			if damaged < 0 {
				damaged = int64(at)
			}
		} else if damaged >= 0 {
			return 0, fmt.Errorf("damaged at byte %d, before entries that are whole; move the file aside to start an empty queue "+
				"(jobs that still run are then unknown to it)", damaged)
		} else if err := each(e); err != nil {
			return 0, fmt.Errorf("at byte %d: %w", at, err)
		}
		at += n + 1
		if damaged < 0 {
			good = int64(at)
		}
	}
	return good, nil
}

const sumLen = 9 // eight hex digits and a space

func parseLine(line []byte, e any) error {
	if len(line) < sumLen {
		return errors.New("too short")
	}
	if string(line[:sumLen]) != fmt.Sprintf("%08x ", crc32.Checksum(line[sumLen:], crcTable)) {
		return errors.New("checksum does not match")
	}
	return json.Unmarshal(line[sumLen:], e)
}

// Append adds an entry; Flush or Sync makes it last.
func (l *Log[E]) Append(e *E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = appendLine(l.pending, &l.scratch, e)
}

func appendLine(to []byte, scratch *bytes.Buffer, e any) []byte {
	scratch.Reset()
	enc := json.NewEncoder(scratch) // ends the value with a newline
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic("muster: bug: queue log entry: " + err.Error())
	}
	body := bytes.TrimSuffix(scratch.Bytes(), []byte("\n"))
	to = fmt.Appendf(to, "%08x ", crc32.Checksum(body, crcTable))
	return append(append(to, body...), '\n')
}

// Flush writes the pending entries.
func (l *Log[E]) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushLocked()
}

func (l *Log[E]) flushLocked() error {
	if len(l.pending) == 0 {
		return nil
	}
	n, err := l.f.Write(l.pending)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, l.f.Truncate(l.good))
		}
		return fmt.Errorf("write queue log: %w", err)
	}
	l.good += int64(n)
	l.written += int64(n)
	l.pending = l.pending[:0]
	return nil
}

// Sync makes everything appended so far durable. Callers that wait for one
// another's fsync share the next.
func (l *Log[E]) Sync() error {
	l.mu.Lock()
	err := l.flushLocked()
	want := l.written
	l.mu.Unlock()
	if err != nil {
		return err
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	done, reach, f := l.synced, l.written, l.f
	l.mu.Unlock()
	if done >= want {
		return nil
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync queue log: %w", err)
	}
	l.mu.Lock()
	l.synced = max(l.synced, reach)
	l.mu.Unlock()
	return nil
}

// Close closes the file; pending entries are lost.
func (l *Log[E]) Close() error { return l.f.Close() }

// Size is the length of the log in bytes.
func (l *Log[E]) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.good + int64(len(l.pending))
}

// Rewrite replaces the log by entries, at once and durably.
func (l *Log[E]) Rewrite(entries func(put func(*E))) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	tmp := l.path + ".new"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("compact queue log: %w", err)
	}
	size, err := l.writeAll(f, entries)
	if err == nil && len(l.pending) > 0 { // appended since the owner of the state last flushed
		_, err = f.Write(l.pending)
		size += int64(len(l.pending))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, l.path)
	}
	if err != nil {
		f.Close()
		os.Remove(tmp)
		return fmt.Errorf("compact queue log: %w", err)
	}
	l.f.Close()
	l.f, l.good, l.pending = f, size, l.pending[:0]
	l.written += size
	l.synced = l.written
	return syncDir(filepath.Dir(l.path))
}

func (l *Log[E]) writeAll(f *os.File, entries func(put func(*E))) (int64, error) {
	var size int64
	var buf []byte
	var err error
	write := func() {
		if err == nil {
			var n int
			n, err = f.Write(buf)
			size += int64(n)
		}
		buf = buf[:0]
	}
	entries(func(e *E) {
		if buf = appendLine(buf, &l.scratch, e); len(buf) > 256<<10 {
			write()
		}
	})
	write()
	return size, err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
