package host

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

// A journal is the spool's one log: a line an entry, each with its checksum.
// What was appended is in the file when flush returns, so that it survives the
// queue, and on the disk when sync returns, so that it survives the machine.
// A write that finds no room is undone and kept to be tried again.
type journal struct {
	mu      sync.Mutex
	path    string
	f       *os.File
	good    int64 // bytes in the file that are whole entries
	pending []byte
	scratch bytes.Buffer

	syncing sync.Mutex // one fsync at a time; whoever waits finds it done
	written int64      // bytes ever flushed
	synced  int64      // bytes of them known to be on the disk
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// openJournal reads every entry of a log and readies it for appending. An
// entry cut short at the end is dropped; damage before a whole entry is an error.
func openJournal(path string, each func(entry) error) (*journal, error) {
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
	return &journal{path: path, f: f, good: good}, nil
}

// replay returns how many bytes from the start are whole entries.
func replay(r io.Reader, each func(entry) error) (int64, error) {
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
		var e entry
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

func parseLine(line []byte, e *entry) error {
	if len(line) < sumLen {
		return errors.New("too short")
	}
	if string(line[:sumLen]) != fmt.Sprintf("%08x ", crc32.Checksum(line[sumLen:], crcTable)) {
		return errors.New("checksum does not match")
	}
	return json.Unmarshal(line[sumLen:], e)
}

// append adds an entry; flush or sync makes it last.
func (j *journal) append(e *entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = appendLine(j.pending, &j.scratch, e)
}

func appendLine(to []byte, scratch *bytes.Buffer, e *entry) []byte {
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

// flush writes what is pending.
func (j *journal) flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flushLocked()
}

func (j *journal) flushLocked() error {
	if len(j.pending) == 0 {
		return nil
	}
	n, err := j.f.Write(j.pending)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, j.f.Truncate(j.good))
		}
		return fmt.Errorf("write queue log: %w", err)
	}
	j.good += int64(n)
	j.written += int64(n)
	j.pending = j.pending[:0]
	return nil
}

// sync makes everything appended so far durable. Callers that wait for one
// another's fsync share the next.
func (j *journal) sync() error {
	j.mu.Lock()
	err := j.flushLocked()
	want := j.written
	j.mu.Unlock()
	if err != nil {
		return err
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	done, reach, f := j.synced, j.written, j.f
	j.mu.Unlock()
	if done >= want {
		return nil
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync queue log: %w", err)
	}
	j.mu.Lock()
	j.synced = max(j.synced, reach)
	j.mu.Unlock()
	return nil
}

// size is the length of the log in bytes.
func (j *journal) size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.good + int64(len(j.pending))
}

// rewrite replaces the log by entries, at once and durably.
func (j *journal) rewrite(entries func(put func(*entry))) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	tmp := j.path + ".new"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("compact queue log: %w", err)
	}
	size, err := j.writeAll(f, entries)
	if err == nil && len(j.pending) > 0 { // appended since the owner of the state last flushed
		_, err = f.Write(j.pending)
		size += int64(len(j.pending))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, j.path)
	}
	if err != nil {
		f.Close()
		os.Remove(tmp)
		return fmt.Errorf("compact queue log: %w", err)
	}
	j.f.Close()
	j.f, j.good, j.pending = f, size, j.pending[:0]
	j.written += size
	j.synced = j.written
	return syncDir(filepath.Dir(j.path))
}

func (j *journal) writeAll(f *os.File, entries func(put func(*entry))) (int64, error) {
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
	entries(func(e *entry) {
		if buf = appendLine(buf, &j.scratch, e); len(buf) > 256<<10 {
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
