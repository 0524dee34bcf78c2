package glance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
)

// A glance is its mark, the CRC-32C of the rest in four bytes, and then
// numbers as in encoding/binary's Uvarint, and texts, each after its length:
//
//	the snapshot: size, checksum, seal
//	the head: the state less its jobs and definitions as JSON, its ledger summed
//	the definitions of metrics, as JSON
//	the jobs that stopped: how many, and each as in the snapshot
//	the words: how many, and each
//	whether outputs have digests; how many parts
//	the parts, of all other jobs: how many, and outputs of them all, and a row a job, by key
//
// Each part begins with its length. Texts that many rows share are words, and a row has their numbers.
const mark = "muster glance 5\n"

const bodyAt = len(mark) + 4 // after mark and checksum

// Encode gives the glance of a state and the snapshot that holds it; nil for a
// state that a glance cannot stand for.
func Encode(s *state.State, of Snapshot) ([]byte, error) {
	if !settled(s) {
		return nil, nil
	}
	ledger, ok := sums(s.Ledger)
	if !ok {
		return nil, nil
	}
	head := *s
	head.Version, head.Ledger, head.Definitions = state.SchemaVersion, ledger, nil
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, fmt.Errorf("encode the head of a glance: %w", err)
	}
	metrics, ok := metricsOf(s)
	if !ok {
		return nil, nil
	}
	read, err := json.Marshal(&metrics)
	if err != nil {
		return nil, fmt.Errorf("encode the metrics of a glance: %w", err)
	}
	apart, rest, err := split(s)
	if err != nil {
		return nil, err
	}
	w := &writer{words: map[string]uint64{}}
	w.rows(s, rest)
	b := make([]byte, bodyAt, bodyAt+len(text)+len(apart)+len(w.b)+len(w.list)+256)
	copy(b, mark)
	b = binary.AppendUvarint(b, uint64(of.Size))
	b = binary.AppendUvarint(b, uint64(of.Sum))
	b = appendText(b, of.Seal)
	b = appendText(b, string(text))
	b = appendText(b, string(read))
	b = append(b, apart...)
	b = binary.AppendUvarint(b, uint64(len(w.words)))
	b = append(append(b, w.list...), w.b...)
	binary.LittleEndian.PutUint32(b[len(mark):], crc32.Checksum(b[bodyAt:], Table))
	return b, nil
}

// split gives the jobs that stopped, as they are written, and the keys of all
// others.
func split(s *state.State) (apart []byte, rest []string, err error) {
	n := 0
	var lines []byte
	for _, key := range s.Addresses() {
		j := s.Jobs[key]
		if !stopped(j) {
			rest = append(rest, key)
			continue
		}
		line, err := codec.AppendJob(nil, j)
		if err != nil {
			return nil, nil, fmt.Errorf("encode %s for a glance: %w", key, err)
		}
		lines = appendText(lines, string(line))
		n++
	}
	return append(binary.AppendUvarint(nil, uint64(n)), lines...), rest, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// perPart is how many jobs a part has: enough for a core to be busy with.
const perPart = 1000

// A writer writes rows and gathers their words.
type writer struct {
	b       []byte
	words   map[string]uint64
	list    []byte // the words, in order
	digests bool
}

func (w *writer) number(n uint64)  { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) text(s string)    { w.b = appendText(w.b, s) }
func (w *writer) flag(on bool)     { w.b = append(w.b, map[bool]byte{true: 1}[on]) }
func (w *writer) integer(n int64)  { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) word(word string) { w.number(w.index(word)) }

func (w *writer) index(word string) uint64 {
	n, ok := w.words[word]
	if !ok {
		n = uint64(len(w.words))
		w.words[word] = n
		w.list = appendText(w.list, word)
	}
	return n
}

func (w *writer) rows(s *state.State, keys []string) {
	for _, j := range s.Jobs {
		w.digests = w.digests || len(j.InputBytes) > 0
	}
	w.flag(w.digests)
	w.number(uint64((len(keys) + perPart - 1) / perPart))
	for part := range slices.Chunk(keys, perPart) {
		whole := w.b
		w.b = nil
		outputs := 0
		for _, key := range part {
			outputs += len(files(s.Jobs[key]))
		}
		w.number(uint64(len(part)))
		w.number(uint64(outputs))
		for _, key := range part {
			w.row(s.Jobs[key])
		}
		w.b = appendText(whole, string(w.b))
	}
}

// files are the outputs that a plan looks at.
func files(j *state.Job) []state.Output {
	if j.Smoke {
		return nil
	}
	return j.Outputs
}

func (w *writer) row(j *state.Job) {
	w.text(j.Address)
	w.word(j.Phase)
	w.word(string(j.Status))
	w.flag(j.Smoke)
	w.number(uint64(j.Scheme))
	w.text(j.Result)
	w.text(j.Accepted)
	w.number(uint64(attempt(j)))
	w.number(uint64(len(j.InputBytes)))
	for name, digest := range j.InputBytes.All() {
		w.word(name)
		w.text(digest)
	}
	outputs := files(j)
	w.number(uint64(len(outputs)))
	for i := range outputs {
		w.output(&outputs[i])
	}
}

func (w *writer) output(o *state.Output) {
	w.word(o.Name)
	w.word(o.Backend)
	w.word(o.Workdir)
	w.text(o.Path)
	w.integer(o.Size)
	w.integer(o.MTime)
	w.number(o.Inode)
	w.integer(o.CTime)
	if w.digests {
		w.text(o.Digest)
	}
}

// attempt is the number of a job's last attempt, from 1; 0: it has none.
func attempt(j *state.Job) int {
	if last := j.Last(); last != nil {
		return max(last.N, 1)
	}
	return 0
}
