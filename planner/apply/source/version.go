package source

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Listing is the kind and digest of each file of a tree, by path.
func (t Tree) Listing() map[string]string {
	out := make(map[string]string, len(t.Files))
	for _, f := range t.Files {
		out[f.Path] = f.kind() + " " + f.Digest
	}
	return out
}

func versionFile(cache, digest string) string {
	return filepath.Join(cache, "sources", filepath.Base(digest)+".json")
}

// remember keeps the listing of a version that jobs run with, so that a later
// plan can say which files differ. That it cannot be written is no error.
func (t Tree) remember(cache string) {
	name := versionFile(cache, t.Digest)
	if _, err := os.Stat(name); cache == "" || err == nil {
		return
	}
	b, err := json.Marshal(t.Listing())
	if err != nil {
		return
	}
	write(name, b)
}

// Version is the listing of a version that jobs ran with; nil where it is not known.
func Version(cache, digest string) (listing map[string]string) {
	b, err := os.ReadFile(versionFile(cache, digest))
	if err != nil || json.Unmarshal(b, &listing) != nil {
		return nil
	}
	return listing
}
