package node

import (
	"os"
	"path/filepath"
	"strings"
)

// Note keeps a fact of a batch in a file of its own; without text it is none any
// more.
func (b Batch) Note(name, text string) error {
	path := filepath.Join(string(b), name)
	if text == "" {
		err := os.Remove(path)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Noted is what Note kept, "" if nothing.
func (b Batch) Noted(name string) string {
	text, err := os.ReadFile(filepath.Join(string(b), name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
