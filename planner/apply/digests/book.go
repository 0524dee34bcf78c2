// Package digests computes the digests of input files that no job makes, on the
// machine that has them, and caches each until its file changes.
package digests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
)

const (
	// fileName is that of a book in its folder.
	fileName = "digests.json"
	// savePeriod is how often a book is written while digests are taken.
	savePeriod = 30 * time.Second
	// saveBytes, and saveBytesPerFile for each file in the book, are how many bytes
	// may be digested before it is written: writing costs less than reading them again.
	saveBytes        = 64 << 20
	saveBytesPerFile = 4 << 10
)

// A Book remembers digests of files by where they are and their stamps. It may be
// used from several goroutines.
type Book struct {
	mu    sync.Mutex
	path  string
	known map[string]entry
	dirty bool
	bytes int64 // digested since the book was written
	saved time.Time
}

type entry struct {
	Stamp  uint64 `json:"stamp"`
	Digest string `json:"digest"`
}

// Open reads the book in a folder; "" is for one that is not kept. A broken one is
// empty: its files are read again.
func Open(cache string) *Book {
	b := &Book{known: map[string]entry{}, saved: time.Now()}
	if cache != "" {
		b.path = filepath.Join(cache, fileName)
		if text, err := os.ReadFile(b.path); err == nil && json.Unmarshal(text, &b.known) != nil {
			b.known = map[string]entry{}
		}
	}
	return b
}

// Key names a file on a backend, "" for muster's machine.
func Key(backend, path string) string {
	if backend == "" {
		return path
	}
	return backend + "\x00" + path
}

// Get is the digest of a file with a stamp, "" where it is not known. A stamp of 0
// is none.
func (b *Book) Get(key string, stamp uint64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.known[key]; stamp != 0 && e.Stamp == stamp {
		return e.Digest
	}
	return ""
}

// Put keeps a digest, and writes all from time to time: whoever is killed, or loses
// power, need not read those files again.
func (b *Book) Put(key string, t Taken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[key], b.dirty = entry{t.Stamp, t.Digest}, true
	b.bytes += t.Size
	if time.Since(b.saved) > savePeriod || b.bytes >= saveBytes+saveBytesPerFile*int64(len(b.known)) {
		b.write()
	}
}

// Save writes new entries; a write error does no harm: files are read again.
func (b *Book) Save() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

func (b *Book) write() {
	if !b.dirty || b.path == "" {
		return
	}
	b.dirty, b.bytes, b.saved = false, 0, time.Now()
	text, err := json.Marshal(b.known)
	if err != nil || os.MkdirAll(filepath.Dir(b.path), 0o777) != nil {
		return
	}
	_ = atomicfile.WriteCache(b.path, text)
}
