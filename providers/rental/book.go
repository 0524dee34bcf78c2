package rental

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
)

// A book keeps rentals, one file each. A rental is on the disk before put returns.
type book struct {
	dir string
	all map[string]*Rental
}

const suffix = ".json"

func openBook(dir string) (*book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return readBook(dir)
}

// readBook reads the rentals of a folder; one that is not there has none.
func readBook(dir string) (*book, error) {
	b := &book{dir: dir, all: map[string]*Rental{}}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		token, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok {
			continue // a write that was cut off
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r := &Rental{}
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err == nil && r.Token != token {
			err = fmt.Errorf("it is about %q", r.Token)
		}
		if err != nil {
			return nil, fmt.Errorf("rental %s: %w", f.Name(), err)
		}
		b.all[token] = r
	}
	return b, nil
}

func (b *book) put(r *Rental) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(b.dir, r.Token+suffix), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("record rental %s: %w", r.Token, err)
	}
	b.all[r.Token] = r
	return nil
}

// sorted are the rentals by token.
func (b *book) sorted() []*Rental {
	out := make([]*Rental, 0, len(b.all))
	for _, r := range b.all {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Rental) int { return strings.Compare(a.Token, b.Token) })
	return out
}
