package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
)

// Image is the name of the content that is a job's container image. No input
// can have it.
const Image = "job.image"

// A Content is the bytes of files that jobs of a phase read and that no phase
// makes, as far as they are known.
type Content struct {
	Name    string // Image, or that of an input
	Variant lang.Variant
	Of      grid.Projection
	Digests []string          // by combination of Of; "" = not known
	Files   [][]File          // of an input, by combination of Of
	Stamps  map[string]uint64 // of an image, by ImageAt: offer.Stamp of the file, taken with its digest
}

// A File is one of an input that no phase makes.
type File struct {
	Path   string `json:"path"`             // below the campaign's folder, or its backend's workdir; or absolute
	Digest string `json:"digest,omitempty"` // "" = not taken yet
	Stamp  uint64 `json:"stamp,omitempty"`  // offer.Stamp where it is, taken with the digest
	Size   int64  `json:"size"`             // bytes
}

// CopiesDir is the folder, below the workdir of a backend, of copies of files that
// no phase makes.
const CopiesDir = ".muster/inputs"

// Copy is the path of the file's copies below CopiesDir: its name in a folder named
// by its bytes.
func (f *File) Copy() string {
	return path.Join(strings.TrimPrefix(f.Digest, "sha256:"), path.Base(f.Path))
}

// listing is the form in which the files of a list are hashed and kept.
type listing struct {
	Files [][2]string `json:"files"` // path and digest, in order of path
}

// Listing is the digest of the files of a list, and its text: paths and digests. It is ""
// while one of the digests is unknown.
func Listing(files []File) (digest string, text json.RawMessage) {
	l := listing{Files: make([][2]string, len(files))}
	for i, f := range files {
		if f.Digest == "" {
			return "", nil
		}
		l.Files[i] = [2]string{f.Path, f.Digest}
	}
	text, err := json.Marshal(l)
	if err != nil || len(files) == 0 {
		return "", nil
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), text
}

// Listed are the digests of the files of a listing, by path; nil where text is none.
func Listed(text json.RawMessage) map[string]string {
	var l listing
	if len(text) == 0 || json.Unmarshal(text, &l) != nil {
		return nil
	}
	out := make(map[string]string, len(l.Files))
	for _, f := range l.Files {
		out[f[0]] = f[1]
	}
	return out
}

// Bytes is the digest of an input that no phase makes: that of its file, or of
// its Listing if it is a list. "" where it is not known.
func Bytes(in *lang.RawInput, files []File) string {
	if in.List() {
		digest, _ := Listing(files)
		return digest
	}
	if len(files) != 1 {
		return ""
	}
	return files[0].Digest
}

// Of is the digest of a cell's content, "" where it is not known.
func (c *Content) of(cell int) string { return c.Digests[c.Of.Of(cell)] }

// Contents are those of phases, by name.
type Contents map[string][]Content

// Cell is the digest of a content of one cell, "" where it is not known.
func (cs Contents) Cell(p *lang.Phase, v lang.Variant, name string, cell int) string {
	i := slices.IndexFunc(cs[p.Name], func(c Content) bool { return c.Name == name && c.Variant == v })
	if i < 0 {
		return ""
	}
	return cs[p.Name][i].of(cell)
}

// Digests are those of the images of a phase's runs or smokes, by combination; nil
// where there is none.
func (cs Contents) Digests(p *lang.Phase, v lang.Variant) []string {
	for _, c := range cs[p.Name] {
		if c.Name == Image && c.Variant == v {
			return c.Digests
		}
	}
	return nil
}

// ImageAt names the file of an image that has a digest on a backend.
func ImageAt(backend, digest string) string { return backend + " " + digest }

// Stamps are those of the images of a phase, by ImageAt.
func (cs Contents) Stamps(p *lang.Phase) map[string]uint64 {
	var out map[string]uint64
	for _, c := range cs[p.Name] {
		for at, stamp := range c.Stamps {
			if out == nil {
				out = map[string]uint64{}
			}
			out[at] = stamp
		}
	}
	return out
}

// Files are those of the inputs of a phase that no phase makes, by name and then
// by class of lang.RawInput; nil where there are none.
func (cs Contents) Files(p *lang.Phase) map[string][][]File {
	var out map[string][][]File
	for _, c := range cs[p.Name] {
		if c.Variant == lang.Run && c.Files != nil {
			if out == nil {
				out = map[string][][]File{}
			}
			out[c.Name] = c.Files
		}
	}
	return out
}

// Has reports whether digests of such inputs are known for a phase.
func (cs Contents) Has(p *lang.Phase) bool {
	return slices.ContainsFunc(cs[p.Name], func(c Content) bool { return c.Variant == lang.Run })
}

// With is the hash of a cell by given digests of its contents, by name.
func (h *Hasher) With(p *lang.Phase, i int, digest func(name string) string) Hash {
	return h.cell(p, i, lang.Run, sourceDigest(p, h.sources), digest)
}

// appendContents adds the digests of a cell's contents: the known or the given ones. An
// unknown digest adds nothing, so that a job that ran without it keeps its hash.
func (h *Hasher) appendContents(buf []byte, p *lang.Phase, i int, v lang.Variant, digest func(string) string) []byte {
	if digest == nil {
		digest = func(name string) string { return h.contents.Cell(p, v, name, i) }
	}
	buf = appendContent(buf, Image, digest(Image))
	for _, in := range p.Raw {
		buf = appendContent(buf, in.Name, digest(in.Name))
	}
	return buf
}

func appendContent(buf []byte, name, digest string) []byte {
	if digest == "" {
		return buf
	}
	buf = append(append(buf, 0, 0), name...)
	return append(append(buf, '='), digest...)
}
