package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"slices"
)

// A Witness is a source as it was read, and enough to see without its campaign
// that it still is the same. It knows by name which files are part of it, for
// only the campaign could tell a new one from an output.
type Witness struct {
	Dir     string   `json:"dir"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Files   []string `json:"files"`  // that are part of it, sorted
	Digest  string   `json:"digest"` // of the tree
	Others  string   `json:"others"` // digest of the names that the patterns take, and that are no part of it
}

// Attest reads a source and gives its witness.
func Attest(ctx context.Context, s Spec) (Witness, error) {
	t, others, err := readApart(ctx, s)
	if err != nil {
		return Witness{}, err
	}
	w := Witness{Dir: s.Dir, Include: s.Include, Exclude: s.Exclude, Files: []string{}, Digest: t.Digest, Others: others}
	for _, f := range t.Files {
		w.Files = append(w.Files, f.Path)
	}
	return w, nil
}

// Holds reports whether the source is as it was: each of its files, and no
// file beside them that was not there. Cache is as in Spec.
func (w Witness) Holds(ctx context.Context, cache string) bool {
	never := func(rel string) bool {
		_, found := slices.BinarySearch(w.Files, rel)
		return !found
	}
	t, others, err := readApart(ctx, Spec{Dir: w.Dir, Include: w.Include, Exclude: w.Exclude, Never: never, Cache: cache})
	return err == nil && t.Digest == w.Digest && others == w.Others
}

// readApart is Read, with a digest of the names that are taken by the patterns
// and by Never.
func readApart(ctx context.Context, s Spec) (Tree, string, error) {
	names := sha256.New()
	if never := s.Never; never != nil {
		s.Never = func(rel string) bool { return never(rel) && noted(names, rel) }
	}
	t, err := Read(ctx, s)
	return t, hex.EncodeToString(names.Sum(nil)), err
}

// noted is true.
func noted(names hash.Hash, rel string) bool {
	_, _ = io.WriteString(names, rel+"\x00")
	return true
}
