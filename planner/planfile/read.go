package planfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-run/muster/planner"
)

// A File is a saved plan.
type File struct {
	Head   Head
	phases []columns
	rows   []byte // as they were read
}

// Columns are the rows of a phase.
type columns struct {
	kind    []planner.Kind
	place   []uint16
	result  []planner.Hash
	status  []uint8 // index into statuses
	attempt []int32
	old     map[int]planner.Hash // the record's result, where it differs
	keys    []byte
	keyEnd  []int32
	details map[int]Detail
}

func (c *columns) key(i int) string {
	from := int32(0)
	if i > 0 {
		from = c.keyEnd[i-1]
	}
	return string(c.keys[from:c.keyEnd[i]])
}

// before is the precondition of a row.
func (c *columns) before(i int) Before {
	b := Before{Status: statuses[c.status[i]], Attempt: int(c.attempt[i])}
	if b.Status == "" {
		return b
	}
	b.Result = c.result[i].String()
	if h, ok := c.old[i]; ok {
		b.Result = h.String()
	}
	return b
}

// errDamaged is the error for a short or altered file.
var errDamaged = errors.New("the file is damaged or was cut short; make the plan again with `muster plan -out`")

// Read reads a saved plan and checks that it is whole.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no saved plan %s: `muster plan -out=FILE` saves one. To apply a part of the campaign, name it with -target=ADDR", path)
	case err != nil:
		return nil, fmt.Errorf("read plan: %w", err)
	}
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read plan %s: %w", path, err)
	}
	return f, nil
}

// decode reads the bytes of a plan file.
func decode(data []byte) (*File, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, errors.New("this is not a plan file; `muster plan -out=FILE` writes one")
	}
	if len(data) < sha256.Size+len(magic) {
		return nil, errDamaged
	}
	body, tail := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], tail) {
		return nil, errDamaged
	}
	line, rows, ok := bytes.Cut(rest[:len(rest)-sha256.Size], []byte("\n"))
	if !ok {
		return nil, errDamaged
	}
	f := &File{rows: rows}
	if err := json.Unmarshal(line, &f.Head); err != nil {
		return nil, errDamaged
	}
	if f.Head.Format > version {
		return nil, fmt.Errorf("it has format %d, and this muster reads up to %d; use the version that wrote it (%s)", f.Head.Format, version, f.Head.Muster)
	}
	r := reader{rows}
	for _, p := range f.Head.Phases {
		c, err := r.phase(p.Cells)
		if err != nil {
			return nil, err
		}
		f.phases = append(f.phases, c)
	}
	return f, nil
}

// A reader takes rows apart; every step is bounded by the bytes that remain.
type reader struct{ b []byte }

func (r *reader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, errDamaged
	}
	r.b = r.b[n:]
	return v, nil
}

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, errDamaged
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out, nil
}

const leastRow = 2 + 1 + 2 + 16 + 1 + 1 // bytes of a row with an empty key

func (r *reader) phase(cells int) (columns, error) {
	if cells < 0 || cells > len(r.b)/leastRow {
		return columns{}, errDamaged
	}
	c := columns{
		kind: make([]planner.Kind, cells), place: make([]uint16, cells), result: make([]planner.Hash, cells), status: make([]uint8, cells),
		attempt: make([]int32, cells), keyEnd: make([]int32, cells), old: map[int]planner.Hash{}, details: map[int]Detail{},
	}
	for i := range cells {
		if err := r.row(&c, i); err != nil {
			return c, err
		}
	}
	return c, r.detailsOf(&c)
}

func (r *reader) row(c *columns, i int) error {
	b, err := r.take(2)
	if err != nil || int(b[1]) >= len(statuses) {
		return errDamaged
	}
	c.kind[i], c.status[i] = planner.Kind(b[0]), b[1]
	n, err := r.uvarint()
	if err != nil {
		return err
	}
	c.attempt[i] = int32(n)
	if b, err = r.take(2 + 16 + 1); err != nil {
		return err
	}
	c.place[i] = binary.LittleEndian.Uint16(b)
	copy(c.result[i][:], b[2:])
	if b[18] == 1 {
		old, err := r.take(16)
		if err != nil {
			return err
		}
		c.old[i] = planner.Hash(old)
	}
	if n, err = r.uvarint(); err != nil {
		return err
	}
	key, err := r.take(n)
	c.keys = append(c.keys, key...)
	c.keyEnd[i] = int32(len(c.keys))
	return err
}

func (r *reader) detailsOf(c *columns) error {
	n, err := r.uvarint()
	for range n {
		var cell, size uint64
		if cell, err = r.uvarint(); err == nil {
			size, err = r.uvarint()
		}
		if err != nil {
			return err
		}
		text, err := r.take(size)
		if err != nil {
			return err
		}
		var d Detail
		if json.Unmarshal(text, &d) != nil || cell >= uint64(len(c.kind)) {
			return errDamaged
		}
		c.details[int(cell)] = d
	}
	return err
}

// Options are those the plan was made with.
func (f *File) Options() planner.Options { return f.Head.Options }
