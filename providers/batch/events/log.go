// Package events logs the events of a campaign's jobs on a cluster: a file in
// the spool, one event a line, which watchers read from a cursor. It is a package
// of its own because the file is a format with promises: numbers without gaps, a
// cut last line that never counts, and a full disk that loses no earlier event.
package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

// An Event is an observation of a job, or a note, with its number.
type Event struct {
	Seq  int               `json:"seq"` // from 1
	Seen offer.Observation `json:"seen"`
	Note *providers.Note   `json:"note,omitempty"`
}

// A Log is the events of one spool. One process at a time writes it.
type Log struct {
	path string
	all  []Event
	file *os.File
	bell chan struct{}
	// Strict makes a full disk an error; who looks once reads on.
	Strict bool
}

// In is the log of a spool.
func In(spool string) *Log {
	return &Log{path: filepath.Join(spool, "events"), bell: make(chan struct{})}
}

// Load reads the file, and removes a last line that was cut short.
func (l *Log) Load() error {
	b, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the spool's events: %w", err)
	}
	whole := 0
	for line := range strings.Lines(string(b)) {
		var e Event
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("read the spool's events: line %d: %w", len(l.all)+1, err)
		}
		whole += len(line)
		l.all = append(l.all, e)
	}
	if whole < len(b) {
		return os.Truncate(l.path, int64(whole))
	}
	return nil
}

// All are the events so far, in order.
func (l *Log) All() []Event { return l.all }

// Bell is closed at the next event.
func (l *Log) Bell() <-chan struct{} { return l.bell }

// Add numbers events, writes them and wakes watchers.
func (l *Log) Add(list ...Event) error {
	var lines []byte
	for _, e := range list {
		e.Seq = len(l.all) + 1
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines = append(append(lines, text...), '\n')
		l.all = append(l.all, e)
	}
	if len(lines) == 0 {
		return nil
	}
	if l.file == nil {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("write the spool's events: %w", err)
		}
		l.file = f
	}
	if err := l.write(lines); err != nil && (l.Strict || !attempt.NoSpace(err)) {
		return fmt.Errorf("write the spool's events: %w", err)
	}
	close(l.bell)
	l.bell = make(chan struct{})
	return nil
}

// write appends lines to the file: all of them, or none where the disk is full.
func (l *Log) write(lines []byte) error {
	fi, err := l.file.Stat()
	if err != nil {
		return err
	}
	if _, err := l.file.Write(lines); err != nil {
		return errors.Join(err, l.file.Truncate(fi.Size()))
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
