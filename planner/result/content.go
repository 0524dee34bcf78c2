package result

import (
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
)

// Image is the name of the content that is a job's container image. No input
// can have it.
const Image = "job.image"

// A Content is the bytes of files that jobs of a phase read and that no phase
// makes, as far as they are known.
type Content struct {
	Name    string // Image
	Variant lang.Variant
	Of      grid.Projection
	Digests []string // by combination of Of; "" = not known
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

// Digests are those of a content of a phase's runs, by combination; nil where
// there is none.
func (cs Contents) Digests(p *lang.Phase, name string) []string {
	for _, c := range cs[p.Name] {
		if c.Name == name && c.Variant == lang.Run {
			return c.Digests
		}
	}
	return nil
}

// Has reports whether anything is known of what a phase's jobs read so.
func (cs Contents) Has(p *lang.Phase) bool {
	return slices.ContainsFunc(cs[p.Name], func(c Content) bool { return c.Variant == lang.Run })
}

// With is the hash of a cell by given digests of its contents, by name.
func (h *Hasher) With(p *lang.Phase, i int, digest func(name string) string) Hash {
	return h.cell(p, i, lang.Run, sourceDigest(p, h.sources), digest)
}

// appendContents adds the digests of a cell's contents: as known, or as given. What
// is not known adds nothing, so that a job that was run without knowing it has the
// hash that it had.
func (h *Hasher) appendContents(buf []byte, p *lang.Phase, i int, v lang.Variant, digest func(string) string) []byte {
	if digest != nil {
		return appendContent(buf, Image, digest(Image))
	}
	for k := range h.contents[p.Name] {
		if c := &h.contents[p.Name][k]; c.Variant == v {
			buf = appendContent(buf, c.Name, c.of(i))
		}
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
