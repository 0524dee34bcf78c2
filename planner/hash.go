package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/lang"
)

// Scheme is the version of the canonical text under which hashes are taken
// now. A record keeps the scheme it was made under and is compared in it.
const Scheme = 1

// schemes are those this muster can compute: the prefix of the hashed text.
var schemes = map[int]string{
	1: "muster result 1\n",
}

// String is the hash as 32 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash as hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	out, ok := ParseHash(string(b))
	if !ok {
		return fmt.Errorf("%q is no hash", b)
	}
	*h = out
	return nil
}

// IsZero reports whether the hash was never computed.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash reads 32 hex digits; anything else is no hash.
func ParseHash(s string) (h Hash, ok bool) {
	if len(s) != 2*len(h) {
		return Hash{}, false
	}
	for i := range h {
		hi, lo := nibble(s[2*i]), nibble(s[2*i+1])
		if hi > 15 || lo > 15 {
			return Hash{}, false
		}
		h[i] = hi<<4 | lo
	}
	return h, true
}

// is compares with hex digits; a record is compared for every job of a plan.
func (h *Hash) is(digits string) bool {
	const hexDigits = "0123456789abcdef"
	if len(digits) != 2*len(h) {
		return false
	}
	for i, b := range h {
		if digits[2*i] != hexDigits[b>>4] || digits[2*i+1] != hexDigits[b&15] {
			return false
		}
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func sum(buf []byte) (h Hash) {
	s := sha256.Sum256(buf)
	copy(h[:], s[:len(h)])
	return h
}

// A hasher computes result hashes under one scheme, a column at a time: 16
// bytes a cell and no allocation for one.
type hasher struct {
	prefix  string
	sources map[string]SourceDigest
	results map[*lang.Phase][]Hash // done phases
	groups  map[*lang.Input][]Hash // producers' hash by group
	inputs  map[*lang.Phase][]*lang.Input
	buf     []byte
}

func newHasher(scheme int, sources map[string]SourceDigest) *hasher {
	return &hasher{prefix: schemes[scheme], sources: sources, results: map[*lang.Phase][]Hash{}, groups: map[*lang.Input][]Hash{}, inputs: map[*lang.Phase][]*lang.Input{}}
}

// phase hashes every cell of a phase whose producers are hashed already.
func (h *hasher) phase(p *lang.Phase) []Hash {
	// By name: the order of blocks in the file means nothing.
	h.inputs[p] = slices.SortedFunc(slices.Values(p.Inputs), func(a, b *lang.Input) int { return strings.Compare(a.Name, b.Name) })
	for _, in := range p.Inputs {
		h.groups[in] = h.inputGroups(in)
	}
	digest := sourceDigest(p, h.sources)
	out := make([]Hash, p.Len())
	for i := range out {
		out[i] = h.cell(p, i, lang.Run, digest)
	}
	h.results[p] = out
	return out
}

// cell hashes one cell. Lengths stand before the parts that people write, so
// that no two different jobs have the same text.
func (h *hasher) cell(p *lang.Phase, i int, v lang.Variant, digest string) Hash {
	buf := append(h.buf[:0], h.prefix...)
	at := len(buf)
	buf = p.AppendResult(buf, i, v)
	n := len(buf) - at
	buf = append(buf, 0)
	buf = strconv.AppendInt(buf, int64(n), 10)
	buf = append(append(buf, 0), digest...)
	for _, in := range h.inputs[p] {
		buf = append(append(buf, 0), in.Name...)
		buf = append(buf, '=')
		g := h.groups[in][in.GroupOf(i)]
		buf = append(buf, g[:]...)
	}
	h.buf = buf
	return sum(buf)
}

// inputGroups is what each group of an input's consumers depends on: the one
// producer's hash, or for a list a hash over all of them in key order.
func (h *hasher) inputGroups(in *lang.Input) []Hash {
	producers := h.results[in.From]
	out := make([]Hash, in.Groups())
	for g := range out {
		members := in.Members(g)
		if !in.All && len(members) == 1 {
			out[g] = producers[members[0]]
			continue
		}
		d := sha256.New()
		d.Write([]byte(h.prefix))
		for _, m := range members {
			h.buf = append(in.From.AppendKey(h.buf[:0], m), 0)
			h.buf = append(h.buf, producers[m][:]...)
			d.Write(h.buf)
		}
		copy(out[g][:], d.Sum(h.buf[:0]))
	}
	return out
}

// sourceDigest is the content a phase depends on; "" without a source.
func sourceDigest(p *lang.Phase, sources map[string]SourceDigest) string {
	if p.Source == nil {
		return ""
	}
	return sources[p.Source.Key()].Digest
}

// fingerprint is a smoke's hash in an environment class.
func (h *hasher) fingerprint(p *lang.Phase, cell int, class string) Hash {
	r := h.cell(p, cell, lang.SmokeRun, sourceDigest(p, h.sources))
	buf := append(h.buf[:0], "muster smoke\n"...)
	buf = append(append(buf, r[:]...), class...)
	h.buf = buf
	return sum(buf)
}

// InputHashes are, by input, what a job depends on of its producers: their
// result hash, or a hash over them. They are kept with the job's record.
func (p *Plan) InputHashes(phase *PhasePlan, cell int) map[string]string {
	if len(phase.Phase.Inputs) == 0 {
		return nil
	}
	if p.hash == nil { // read from a file
		p.hash = newHasher(Scheme, nil)
		for _, pp := range p.Phases {
			p.hash.results[pp.Phase] = pp.Result
		}
	}
	out := make(map[string]string, len(phase.Phase.Inputs))
	for _, in := range phase.Phase.Inputs {
		if p.hash.groups[in] == nil {
			p.hash.groups[in] = p.hash.inputGroups(in)
		}
		out[in.Name] = p.hash.groups[in][in.GroupOf(cell)].String()
	}
	return out
}

// InputBytes is the digest over the bytes a job read through one input, from
// the output digests of its producers in key order; "" when one is unknown.
func InputBytes(digests []string) string {
	if len(digests) == 1 {
		return digests[0]
	}
	d := sha256.New()
	for _, s := range digests {
		if s == "" {
			return ""
		}
		d.Write(append([]byte(s), 0))
	}
	return "sha256:" + hex.EncodeToString(d.Sum(nil))
}
