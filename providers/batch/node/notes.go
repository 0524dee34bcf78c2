package node

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
)

// Note keeps a fact of a batch in a file of its own; an empty text removes it.
func (b Batch) Note(name, text string) error {
	path := filepath.Join(string(b), name)
	if text == "" {
		err := os.Remove(path)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	return atomicfile.Write(path, []byte(text+"\n"), 0o600)
}

// Noted is the text that Note kept, "" if none.
func (b Batch) Noted(name string) string {
	text, err := os.ReadFile(filepath.Join(string(b), name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
