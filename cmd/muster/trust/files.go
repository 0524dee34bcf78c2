package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	mostFiles = 256      // files that one text names, with those that these name
	mostBytes = 16 << 20 // of one such file
)

// named are the files of a checkout that a text names, and those that these
// name in turn, each with its digest: a changed script is a changed text. Files
// outside the checkout are the machine's own.
func named(dir, workdir, text string) (out []string) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil || dir == "" {
		return nil
	}
	if workdir == "" {
		workdir = dir
	}
	seen, texts := map[string]bool{}, []string{text}
	for len(texts) > 0 && len(seen) < mostFiles {
		text, texts = texts[0], texts[1:]
		for _, word := range words(text) {
			path := word
			if !filepath.IsAbs(path) {
				path = filepath.Join(workdir, word)
			}
			at, err := filepath.EvalSymlinks(path)
			if err != nil || seen[at] || !within(root, at) || len(seen) >= mostFiles {
				continue
			}
			seen[at] = true
			digest, content := look(at)
			if digest == "" {
				continue
			}
			out, texts = append(out, at[len(root):]+" "+digest), append(texts, content)
		}
	}
	slices.Sort(out)
	return out
}

// words are the words of a shell text that may be files, each once.
func words(text string) (out []string) {
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n;&|(){}<>\"'`=$,", c) }) {
		if len(w) < 256 && w != "." && w != ".." && w != "/" && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// look is the digest of a regular file, and its beginning as text.
func look(path string) (digest, text string) {
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return "", ""
	}
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	h := sha256.New()
	var head strings.Builder
	if _, err := io.Copy(h, io.TeeReader(io.LimitReader(f, mostBytes), &limited{&head, 256 << 10})); err != nil {
		return "", ""
	}
	if fi, err := f.Stat(); err == nil && fi.Size() > mostBytes {
		h.Write([]byte(fi.ModTime().String())) // its beginning, and when it was written
	}
	return hex.EncodeToString(h.Sum(nil)), head.String()
}

// limited keeps the first bytes that are written to it.
type limited struct {
	b    *strings.Builder
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), l.most-l.b.Len())])
	return len(p), nil
}

// within reports whether a path is a folder or is below it. Both are clean and
// contain no links.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
