// Package trust remembers the actions that this user has allowed campaigns, item by item and
// by content. It decides which programs a read-only command may start, where it may connect,
// which commands it may run there, and which files it may read outside the checkout. It keeps
// the allowed items in the user's state folder, never in a checkout, and only this user's yes
// adds one.
package trust

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/userstate"
)

// A store is the file of trusted items: one JSON object a line, of which only
// lines are added, and the key of their digests beside it. Both are 0600.
type store struct{ dir string }

// An entry is one line of the file.
type entry struct {
	Digest string    `json:"digest"` // HMAC-SHA256 of the item's content under this user's key
	Kind   Kind      `json:"kind"`
	What   string    `json:"what"` // for people who read the file
	At     time.Time `json:"at"`
}

// errNoHome says that there is no folder to remember in.
var errNoHome = errors.New("neither XDG_STATE_HOME nor HOME names a folder to remember it in")

// openStore is the store of this user; getenv looks variables up.
func openStore(getenv func(string) string) (store, error) {
	dir := userstate.Dir(getenv)
	if dir == "" {
		return store{}, errNoHome
	}
	return store{filepath.Join(dir, "trust")}, nil
}

func (s store) items() string { return filepath.Join(s.dir, "items.jsonl") }
func (s store) key() string   { return filepath.Join(s.dir, "key") }

// private refuses a file that others than this user may have written.
func private(info fs.FileInfo, path string) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a file of this user alone; remove it, or if it is yours: chmod 0600 %[1]s", path)
	}
	return nil
}

// read returns the content of a private file; nil and no error where there is
// none.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info, path); err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	n, err := f.Read(b)
	if n == 0 && len(b) == 0 {
		err = nil
	}
	return b[:n], err
}

const keySize = 32 // bytes

// secret is this user's key; nil where there is none yet.
func (s store) secret() ([]byte, error) {
	b, err := read(s.key())
	if err != nil || b == nil {
		return nil, err
	}
	if len(b) != keySize {
		return nil, fmt.Errorf("%s is damaged; remove it, and allow items again", s.key())
	}
	return b, nil
}

// makeSecret is this user's key, made where there is none. Of two processes that
// make it at once, both use the first one's.
func (s store) makeSecret() ([]byte, error) {
	if key, err := s.secret(); key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key)                     // never fails: crypto/rand
	tmp, err := os.CreateTemp(s.dir, "key-*") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(key)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), s.key()); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.secret()
}

func digest(key []byte, it Item) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(it.content))
	return hex.EncodeToString(h.Sum(nil))
}

// load is the digests of all trusted items. A line that was cut off counts as
// none.
func (s store) load() (map[string]bool, error) {
	b, err := read(s.items())
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range lines(b) {
		var e entry
		if json.Unmarshal(line, &e) == nil && len(e.Digest) == 2*sha256.Size {
			out[e.Digest] = true
		}
	}
	return out, nil
}

func lines(b []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		sc := bufio.NewScanner(bytes.NewReader(b))
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			if !yield(sc.Bytes()) {
				return
			}
		}
	}
}

// add remembers items. Whoever adds at the same time adds whole lines, too.
func (s store) add(items []Item, now time.Time) error {
	key, err := s.makeSecret()
	if err != nil {
		return err
	}
	if _, err := read(s.items()); err != nil {
		return err
	}
	var text []byte
	for _, it := range items {
		line, err := json.Marshal(entry{digest(key, it), it.Kind, it.What, now})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	f, err := os.OpenFile(s.items(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // where locks do not work, O_APPEND keeps small lines apart
	if end, err := f.Seek(0, 2); err == nil && end > 0 {
		text = append([]byte{'\n'}, text...) // after a line that was cut off
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
