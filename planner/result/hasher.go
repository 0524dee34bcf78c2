// Package result computes result hashes. A job has the same hash on every
// machine and under every name, and the hash changes with everything that
// determines the job's outputs. The package knows nothing of plans or records.
package result

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/lang"
)

// Scheme is the version of the canonical text under which hashes are taken
// now. A record keeps the scheme it was made under and is compared in it.
const Scheme = 1

// Schemes are those this muster can compute: the prefix of the hashed text.
var Schemes = map[int]string{
	1: "muster result 1\n",
}

// Source is the content of a source tree and where it comes from.
type Source struct {
	Digest string
	Commit string // recorded, in no hash
	Dirty  bool
	Files  int
	Bytes  int64
	Locks  map[string]string // digests of the files that pin packages, by path; in no hash of their own
}

// A Hasher computes result hashes under one scheme, a column at a time: 16
// bytes a cell and no allocation for one.
type Hasher struct {
	prefix   string
	sources  map[string]Source
	contents Contents
	results  map[*lang.Phase][]Hash // done phases
	groups   map[*lang.Input][]Hash // producers' hash by group
	inputs   map[*lang.Phase][]*lang.Input
	buf      []byte
	out      func(in *lang.Input, producer int) bool // whether jobs go on without a producer; nil: without none
}

// New is a hasher under a scheme this muster can compute.
func New(scheme int, sources map[string]Source) *Hasher {
	return &Hasher{prefix: Schemes[scheme], sources: sources, results: map[*lang.Phase][]Hash{}, groups: map[*lang.Input][]Hash{}, inputs: map[*lang.Phase][]*lang.Input{}}
}

// Read gives a hasher the contents of files that no phase makes.
func (h *Hasher) Read(contents Contents) *Hasher {
	h.contents = contents
	return h
}

// Phase hashes every cell of a phase whose producers are hashed already.
func (h *Hasher) Phase(p *lang.Phase) []Hash {
	h.takeInputs(p)
	for _, in := range p.Inputs {
		h.groups[in] = h.inputGroups(in)
	}
	digest := sourceDigest(p, h.sources)
	out := make([]Hash, p.Len())
	for i := range out {
		out[i] = h.cell(p, i, lang.Run, digest, nil)
	}
	h.results[p] = out
	return out
}

// takeInputs keeps the inputs of a phase by name: the order of blocks in the file
// means nothing.
func (h *Hasher) takeInputs(p *lang.Phase) {
	h.inputs[p] = slices.SortedFunc(slices.Values(p.Inputs), func(a, b *lang.Input) int { return strings.Compare(a.Name, b.Name) })
}

// Known takes the hashes of a phase that were computed earlier. The slice may
// change later, which Settle sees.
func (h *Hasher) Known(p *lang.Phase, results []Hash) {
	h.results[p] = results
	h.takeInputs(p)
}

// Settle reads the current results of a cell's producers, so that With and
// Fingerprint hash the cell by them.
func (h *Hasher) Settle(p *lang.Phase, i int) {
	for _, in := range h.inputs[p] {
		if h.groups[in] == nil {
			h.groups[in] = make([]Hash, in.Groups())
		}
		g := in.GroupOf(i)
		h.groups[in][g] = h.group(in, g)
	}
}

// Leave has later calls of Settle leave out producers that jobs go on without.
func (h *Hasher) Leave(out func(in *lang.Input, producer int) bool) { h.out = out }

// Without is the hash of a cell that went on without some producers, by given digests of its
// contents, and InputWithout its part of one input.
func (h *Hasher) Without(p *lang.Phase, i int, out func(in *lang.Input, producer int) bool, digest func(name string) string) Hash {
	h.out = out
	h.Settle(p, i)
	sum := h.With(p, i, digest)
	h.out = nil
	h.Settle(p, i)
	return sum
}

// InputWithout is the hash of an input for a group, without some of its producers.
func (h *Hasher) InputWithout(in *lang.Input, g int, out func(in *lang.Input, producer int) bool) Hash {
	h.out = out
	defer func() { h.out = nil }()
	return h.group(in, g)
}

// Inputs are the inputs of a hashed phase by name.
func (h *Hasher) Inputs(p *lang.Phase) []*lang.Input { return h.inputs[p] }

// Input is the hash of an input's producers, for the cells of a group.
func (h *Hasher) Input(in *lang.Input, group int) Hash {
	if h.groups[in] == nil {
		h.groups[in] = h.inputGroups(in)
	}
	return h.groups[in][group]
}

// cell hashes one cell. Lengths stand before the parts that people write, so
// that no two different jobs have the same text.
func (h *Hasher) cell(p *lang.Phase, i int, v lang.Variant, digest string, contents func(name string) string) Hash {
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
	if len(h.contents) > 0 || contents != nil {
		buf = h.appendContents(buf, p, i, min(v, lang.SmokeRun), contents) // a canary has the inputs of its smoke
	}
	h.buf = buf
	return sum(buf)
}

// Reading is a cell's hash together with the outputs that the phase's inputs read, by
// input. A hash alone covers the producers, and not which of their outputs is read.
func (h *Hasher) Reading(cell Hash, p *lang.Phase, outputs map[string]string) Hash {
	buf := append(h.buf[:0], "muster outputs\n"...)
	buf = append(buf, cell[:]...)
	for _, in := range h.inputs[p] {
		buf = append(append(buf, 0), in.Name...)
		buf = append(append(buf, '='), outputs[in.Name]...)
	}
	h.buf = buf
	return sum(buf)
}

// inputGroups are the hashes of an input, one for each group of its consumers.
func (h *Hasher) inputGroups(in *lang.Input) []Hash {
	out := make([]Hash, in.Groups())
	for g := range out {
		out[g] = h.group(in, g)
	}
	return out
}

// group is the hash of one group of an input's consumers: the one producer's hash, or for a
// list a hash over all of them in key order.
func (h *Hasher) group(in *lang.Input, g int) (out Hash) {
	producers, members := h.results[in.From], in.Members(g)
	if !in.All && len(members) == 1 {
		return producers[members[0]]
	}
	d := sha256.New()
	d.Write([]byte(h.prefix))
	for _, m := range members {
		if h.out != nil && in.Partial() && h.out(in, m) {
			continue
		}
		h.buf = append(in.From.AppendKey(h.buf[:0], m), 0)
		h.buf = append(h.buf, producers[m][:]...)
		d.Write(h.buf)
	}
	copy(out[:], d.Sum(h.buf[:0]))
	return out
}

// sourceDigest is the content a phase depends on; "" without a source.
func sourceDigest(p *lang.Phase, sources map[string]Source) string {
	if p.Source == nil {
		return ""
	}
	return sources[p.Source.Key()].Digest
}

// Fingerprint is a smoke's hash in an environment class, by given digests of its
// contents; nil is for those that are known.
func (h *Hasher) Fingerprint(p *lang.Phase, cell int, class string, digest func(name string) string) Hash {
	r := h.cell(p, cell, lang.SmokeRun, sourceDigest(p, h.sources), digest)
	longest := h.cell(p, cell, p.Smoke.Longest(cell), sourceDigest(p, h.sources), digest)
	buf := append(h.buf[:0], "muster smoke\n"...)
	buf = append(append(buf, r[:]...), class...)
	if p.Smoke.ResumeDrill { // one that passed without shows less
		buf = append(buf, "\x00resume_drill"...)
	}
	if longest != r {
		buf = append(append(buf, "\x00canary"...), longest[:]...)
	}
	h.buf = buf
	return sum(buf)
}
