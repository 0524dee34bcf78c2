package caps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-run/muster/planner/apply/ledger"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Ledger is the name of the file, beside the one of budgets, in which campaigns record their
// spending and reservations.
const Ledger = offer.SharedLedger

// A line is the state of one share; the last one of a share holds.
type line struct {
	Lineage  string        `json:"lineage"`
	Key      string        `json:"key"`
	Campaign string        `json:"campaign"`
	Dir      string        `json:"dir"`
	Backend  string        `json:"backend"`
	Spent    state.Amounts `json:"spent,omitempty"`
	Held     state.Amounts `json:"held,omitempty"` // at its ceiling

	both ledger.Amounts
}

type id struct{ lineage, key string }

// A journal is a file of lines, which are only ever added, and their sum.
type journal struct {
	path  string
	read  int64 // of it, in bytes
	lines map[id]line
	sums  map[string]ledger.Amounts // by backend
	file  *os.File
}

func journalOf(budgets string) *journal {
	return &journal{path: filepath.Join(filepath.Dir(budgets), Ledger), lines: map[id]line{}, sums: map[string]ledger.Amounts{}}
}

// look reads new lines; a missing file is empty.
func (j *journal) look() error {
	f, err := os.OpenFile(j.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the joint spending of campaigns: %w", err)
	}
	defer f.Close()
	return j.catchUp(f)
}

// catchUp takes in the whole lines that were added. A line that was cut off, or that
// nobody can read, says nothing.
func (j *journal) catchUp(f *os.File) error {
	b, err := io.ReadAll(io.NewSectionReader(f, j.read, 1<<62))
	if err != nil {
		return fmt.Errorf("read the joint spending of campaigns: %w", err)
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	j.read += int64(end)
	for text := range bytes.Lines(b[:end]) {
		var l line
		if json.Unmarshal(text, &l) == nil && l.Key != "" {
			j.fold(l)
		}
	}
	return nil
}

func (j *journal) fold(l line) {
	l.both = ledger.Parse(l.Spent)
	l.both.Add(ledger.Parse(l.Held), 1)
	at := id{l.Lineage, l.Key}
	if old, ok := j.lines[at]; ok {
		sum := j.sums[old.Backend]
		sum.Add(old.both, -1)
		j.sums[old.Backend] = sum
	}
	sum := j.sums[l.Backend]
	sum.Add(l.both, 1)
	j.sums[l.Backend] = sum
	j.lines[at] = l
}

// was is the share before a line; zero where the share is new.
func (j *journal) was(l line) line {
	if old, ok := j.lines[id{l.Lineage, l.Key}]; ok {
		return old
	}
	l.Spent, l.Held = nil, nil
	return l
}

// change adds the lines that decide returns. decide sees every line and runs
// alone: all campaigns take the same lock.
func (j *journal) change(decide func() []line) (err error) {
	if err := j.open(); err != nil {
		return err
	}
	if err := lock(j.file); err != nil {
		return fmt.Errorf("lock %s, where campaigns record their joint spending: %w", j.path, err)
	}
	defer func() { err = errors.Join(err, syscall.Flock(int(j.file.Fd()), syscall.LOCK_UN)) }()
	if err := j.catchUp(j.file); err != nil {
		return err
	}
	var text []byte
	for _, l := range decide() {
		one, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text = append(append(text, one...), '\n')
	}
	if len(text) == 0 {
		return nil
	}
	if at, err := j.file.Seek(0, io.SeekEnd); err == nil && at > j.read {
		text = append([]byte{'\n'}, text...) // after a line that was cut off
	}
	if _, err := j.file.Write(text); err != nil {
		return fmt.Errorf("record this campaign's spending in %s: %w", j.path, err)
	}
	return j.catchUp(j.file)
}

func (j *journal) open() error {
	if j.file != nil {
		return nil
	}
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return fmt.Errorf("%w: campaigns record their joint spending there. Ask the owner of its folder to create an empty file of that name which you may write", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s is not a file", j.path), err, f.Close())
	}
	j.file = f
	return nil
}

// sync makes new lines durable.
func (j *journal) sync() error {
	if j.file == nil {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", j.path, err)
	}
	return nil
}

// patience is how long a lock is waited for that is held for milliseconds.
const patience = 10 * time.Second

func lock(f *os.File) error {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			return err
		}
	}
}
