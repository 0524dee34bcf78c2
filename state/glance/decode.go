package glance

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unsafe"

	"github.com/muster-run/muster/state"
)

var errDamaged = errors.New("the glance is damaged")

// Decode gives the state as far as a glance has it, and the snapshot it was
// made of. The state has rows and no map of jobs: State.All yields them, each
// with the address, phase, status, result hash, bytes of inputs and files of a
// job, and no more. It shares text with data, which must not change.
func Decode(data []byte) (*state.State, Snapshot, error) {
	text := unsafe.String(unsafe.SliceData(data), len(data))
	if len(data) < bodyAt || !strings.HasPrefix(text, mark) || binary.LittleEndian.Uint32(data[len(mark):]) != crc32.Checksum(data[bodyAt:], Table) {
		return nil, Snapshot{}, errDamaged
	}
	r := &reader{s: text[bodyAt:]}
	of := Snapshot{Size: int64(r.number()), Sum: uint32(r.number()), Seal: r.text()}
	s := &state.State{}
	if err := json.Unmarshal([]byte(r.text()), s); err != nil {
		return nil, of, fmt.Errorf("the glance has no head: %w", err)
	}
	r.words = make([]string, r.count())
	for i := range r.words {
		r.words[i] = r.text()
	}
	rows := r.rows()
	if r.bad || r.s != "" || s.Version != state.SchemaVersion {
		return nil, of, errDamaged
	}
	s.Show(rows)
	return s, of, nil
}

// A reader reads what a writer wrote. Once it is bad it gives nothing more.
type reader struct {
	s       string
	words   []string
	digests bool
	bad     bool
	shared  map[string]map[string]string // inputs by their text
}

func (r *reader) number() (n uint64) {
	for i := 0; i < len(r.s) && i < binary.MaxVarintLen64; i++ {
		c := r.s[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
	}
	r.bad, r.s = true, ""
	return 0
}

func (r *reader) integer() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1) // zigzag, as encoding/binary's Varint
}

// count is a number of things that follow, each of a byte at least.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.s)) {
		r.bad, r.s = true, ""
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	text := r.s[:n]
	r.s = r.s[n:]
	return text
}

func (r *reader) flag() bool { return r.number() == 1 }

func (r *reader) word() string {
	n := r.number()
	if n >= uint64(len(r.words)) {
		r.bad = true
		return ""
	}
	return r.words[n]
}

func (r *reader) rows() []state.Job {
	r.digests = r.flag()
	jobs := make([]state.Job, r.count())
	outputs := make([]state.Output, r.count())
	for i := range jobs {
		j := &jobs[i]
		j.Address, j.Phase, j.Status = r.text(), r.word(), state.Status(r.word())
		j.Smoke, j.Scheme, j.Result, j.Accepted = r.flag(), int(r.number()), r.text(), r.text()
		j.InputBytes = r.inputs()
		n := r.count()
		if n > len(outputs) {
			r.bad = true
			return nil
		}
		j.Outputs, outputs = outputs[:n:n], outputs[n:]
		for k := range j.Outputs {
			r.output(&j.Outputs[k])
		}
	}
	return jobs
}

// mostShared is how many maps are kept for rows that follow with equal ones.
const mostShared = 4096

func (r *reader) inputs() map[string]string {
	from := r.s
	n := r.count()
	if n == 0 {
		return nil
	}
	var room [8]string
	pairs := room[:0]
	for range n {
		pairs = append(pairs, r.word(), r.text())
	}
	raw := from[:len(from)-len(r.s)]
	if m, ok := r.shared[raw]; ok {
		return m
	}
	m := make(map[string]string, n)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	if r.shared == nil {
		r.shared = map[string]map[string]string{}
	} else if len(r.shared) == mostShared {
		clear(r.shared)
	}
	r.shared[raw] = m
	return m
}

func (r *reader) output(o *state.Output) {
	o.Name, o.Backend, o.Workdir, o.Path = r.word(), r.word(), r.word(), r.text()
	o.Size, o.MTime, o.Inode = r.integer(), r.integer(), r.number()
	if r.digests {
		o.Digest = r.text()
	}
}
