package glance

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
)

var errDamaged = errors.New("the glance is damaged")

// A Glance is the content of a file: little more than its bytes. It decodes a
// part when that is asked for.
type Glance struct {
	Of    Snapshot     // that it was made of
	State *state.State // as the head has it: no jobs, and the ledger summed
	// Metrics say which metrics were read by which definition.
	Metrics Metrics

	stopped []string // records
	words   []string
	digests bool
	parts   []string

	// As Fill made them: jobs by part, and beside each the number of its last
	// attempt.
	jobs     [][]state.Job
	attempts [][]int
}

// Read takes a file apart. The glance shares text with data, which must not
// change.
func Read(data []byte) (*Glance, error) {
	text := unsafe.String(unsafe.SliceData(data), len(data))
	if len(data) < bodyAt || !strings.HasPrefix(text, mark) || binary.LittleEndian.Uint32(data[len(mark):]) != crc32.Checksum(data[bodyAt:], Table) {
		return nil, errDamaged
	}
	r := &reader{s: text[bodyAt:]}
	g := &Glance{Of: Snapshot{Size: int64(r.number()), Sum: uint32(r.number()), Seal: r.text()}, State: &state.State{}}
	if err := json.Unmarshal([]byte(r.text()), g.State); err != nil {
		return nil, fmt.Errorf("the glance has no head: %w", err)
	}
	if err := json.Unmarshal([]byte(r.text()), &g.Metrics); err != nil {
		return nil, fmt.Errorf("the glance has no definitions of metrics: %w", err)
	}
	g.stopped = r.texts()
	g.words = r.texts()
	g.digests = r.flag()
	g.parts = r.texts()
	if r.bad || r.s != "" || g.State.Version != state.SchemaVersion {
		return nil, errDamaged
	}
	return g, nil
}

// Parts is how many parts the jobs that ended well come in.
func (g *Glance) Parts() int { return len(g.parts) }

// Outputs calls fn for every recorded file of a part, until it returns false;
// the output is good for that call only.
func (g *Glance) Outputs(part int, fn func(*state.Output) bool) error {
	r := g.reader(part)
	r.filesOnly = true
	n, _ := r.count(), r.count()
	var j state.Job
	for range n {
		for range r.job(&j) {
			var o state.Output
			if r.output(&o); r.bad {
				return errDamaged
			}
			if !fn(&o) {
				return nil
			}
		}
	}
	return r.end()
}

// Fill gives State its jobs: rows and no map (see state.State.Show), each with
// the address, phase, status, result hash, bytes of inputs and files of a job,
// and no more. Jobs that stopped come last, and as they were recorded.
func (g *Glance) Fill() error {
	g.jobs, g.attempts = make([][]state.Job, len(g.parts)), make([][]int, len(g.parts))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range g.parts {
		all.Go(func() (err error) {
			g.jobs[i], g.attempts[i], err = g.rows(i)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	stopped, err := g.records()
	if err != nil {
		return err
	}
	g.State.Show(append(slices.Clone(g.jobs), stopped))
	return nil
}

// records are the jobs that stopped.
func (g *Glance) records() ([]state.Job, error) {
	jobs := make([]state.Job, len(g.stopped))
	var d codec.Decoder
	for i, line := range g.stopped {
		if err := d.Job(line, &jobs[i]); err != nil {
			return nil, fmt.Errorf("read a job of the glance: %w", err)
		}
	}
	return jobs, nil
}

// Number gives each job that Fill made of a row its last attempt, with its number and nothing
// else: enough to write a plan, and not to make one.
func (g *Glance) Number() {
	like := map[int][]state.Attempt{} // jobs share equal attempts
	for i, part := range g.jobs {
		for k := range part {
			n := g.attempts[i][k]
			if n > 0 && like[n] == nil {
				like[n] = []state.Attempt{{N: n}}
			}
			part[k].Attempts = like[n]
		}
	}
}

func (g *Glance) rows(part int) ([]state.Job, []int, error) {
	r := g.reader(part)
	jobs, outputs := make([]state.Job, r.count()), make([]state.Output, r.count())
	attempts := make([]int, len(jobs))
	for i := range jobs {
		n := r.job(&jobs[i])
		attempts[i] = r.attempt
		if n > len(outputs) {
			return nil, nil, errDamaged
		}
		jobs[i].Outputs, outputs = outputs[:n:n], outputs[n:]
		for k := range jobs[i].Outputs {
			r.output(&jobs[i].Outputs[k])
		}
	}
	return jobs, attempts, r.end()
}

func (g *Glance) reader(part int) *reader {
	return &reader{s: g.parts[part], words: g.words, digests: g.digests}
}

// A reader reads the output of a writer. Once it is bad it gives nothing more.
type reader struct {
	s       string
	words   []string
	digests bool
	bad     bool

	attempt   int                    // the last one of the job that was read
	filesOnly bool                   // inputs are passed over
	shared    map[string]state.Texts // inputs by their text
}

// end says whether all was read, and was as it should be.
func (r *reader) end() error {
	if r.bad || r.s != "" {
		return errDamaged
	}
	return nil
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

func (r *reader) texts() []string {
	list := make([]string, r.count())
	for i := range list {
		list[i] = r.text()
	}
	return list
}

// job reads a job, up to its outputs, and how many they are.
func (r *reader) job(j *state.Job) (outputs int) {
	j.Address, j.Phase, j.Status = r.text(), r.word(), state.Status(r.word())
	j.Smoke, j.Scheme, j.Result, j.Accepted = r.flag(), int(r.number()), r.text(), r.text()
	r.attempt = int(r.number())
	j.InputBytes = r.inputs()
	return r.count()
}

// mostShared is how many are kept for rows that follow with equal ones.
const mostShared = 4096

func (r *reader) inputs() state.Texts {
	from := r.s
	n := r.count()
	if n == 0 {
		return nil
	}
	var room [4]state.Text
	texts := room[:0]
	for range n {
		texts = append(texts, state.Text{Name: r.word(), Value: r.text()})
	}
	if r.filesOnly {
		return nil
	}
	raw := from[:len(from)-len(r.s)]
	if known, ok := r.shared[raw]; ok {
		return known
	}
	texts = slices.Clone(texts)
	if r.shared == nil {
		r.shared = map[string]state.Texts{}
	} else if len(r.shared) == mostShared {
		clear(r.shared)
	}
	r.shared[raw] = texts
	return texts
}

func (r *reader) output(o *state.Output) {
	o.Name, o.Backend, o.Workdir, o.Path = r.word(), r.word(), r.word(), r.text()
	o.Size, o.MTime, o.Inode, o.CTime = r.integer(), r.integer(), r.number(), r.integer()
	if r.digests {
		o.Digest = r.text()
	}
}
