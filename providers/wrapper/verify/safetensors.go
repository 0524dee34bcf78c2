package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/muster-run/muster/providers"
)

// maxSafetensorsHeader is the format's own limit, in bytes.
// huggingface/safetensors, MAX_HEADER_SIZE.
const maxSafetensorsHeader = 100_000_000

// A tensor is one entry of the header.
type tensor struct {
	name    string
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`        // empty for a scalar, nil if it is not stated
	Offsets []uint64 `json:"data_offsets"` // begin and end in the data
}

// mostDirectory bounds the directory of contents that muster keeps in memory for a file, in
// bytes: a hundred thousand tensors or members. Parsed it takes up to some twenty times that.
const mostDirectory = 16 << 20

var errDirectory = unfinished{fmt.Sprintf("its directory takes more than %s, which is the most that is verified; check it with a command of your own (verify = { command = … })", sizeText(mostDirectory))}

// checkSafetensors reads the header and wants the tensors to fill the rest of
// the file without gap or overlap. huggingface/safetensors, README, "Format".
func checkSafetensors(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	r := f.reader(ctx)
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return fmt.Errorf("cut short: %d bytes are less than the length of a header", f.mark.Size)
	}
	n := binary.LittleEndian.Uint64(size[:])
	switch {
	case n > maxSafetensorsHeader:
		return fmt.Errorf("the header cannot have %d bytes: this is not a safetensors file", n)
	case int64(n) > f.mark.Size-8:
		return fmt.Errorf("cut short within its header: %d of %d bytes are there", f.mark.Size-8, n)
	}
	if n > mostDirectory {
		return errDirectory
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	tensors, err := parseHeader(header)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return extent(tensors, uint64(f.mark.Size)-8-n)
}

// parseHeader reads an object of tensors; names must be unique.
func parseHeader(header []byte) ([]tensor, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("it does not begin with '{'")
	}
	s := scanner{buf: header, end: len(header)}
	if err := s.value(); err != nil {
		return nil, err
	}
	if _, err := s.skip(); err != io.EOF {
		return nil, fmt.Errorf("something follows it at byte %d", s.offset())
	}
	dec := json.NewDecoder(bytes.NewReader(header))
	dec.Token() // the brace
	var list []tensor
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		t := tensor{name: name.(string)}
		if seen[t.name] {
			return nil, fmt.Errorf("tensor %q appears twice", t.name)
		}
		seen[t.name] = true
		if t.name == "__metadata__" {
			var meta map[string]string
			if err := dec.Decode(&meta); err != nil {
				return nil, errors.New("__metadata__ is not a map of text")
			}
			continue
		}
		if err := dec.Decode(&t); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.name, err)
		}
		if t.DType == "" || t.Shape == nil || len(t.Offsets) != 2 {
			return nil, fmt.Errorf("tensor %q lacks dtype, shape or data_offsets", t.name)
		}
		list = append(list, t)
	}
	return list, nil
}

// extent wants the tensors, in the order of their data, to cover exactly the
// data there is.
func extent(list []tensor, data uint64) error {
	slices.SortFunc(list, func(a, b tensor) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	at := uint64(0)
	for _, t := range list {
		begin, end := t.Offsets[0], t.Offsets[1]
		switch {
		case end < begin:
			return fmt.Errorf("tensor %q ends before it begins", t.name)
		case begin > at:
			return fmt.Errorf("a gap of %d bytes before tensor %q", begin-at, t.name)
		case begin < at:
			return fmt.Errorf("tensor %q overlaps the one before it", t.name)
		}
		if want, ok := t.size(); ok && want != end-begin {
			return fmt.Errorf("tensor %q: %d bytes, its shape asks for %d", t.name, end-begin, want)
		}
		at = end
	}
	switch {
	case at > data:
		return fmt.Errorf("cut short: %d of %d bytes of data are there", data, at)
	case at < data:
		return fmt.Errorf("%d bytes follow the last tensor", data-at)
	}
	return nil
}

// tensorBits are the widths of the element types.
var tensorBits = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// size is the bytes of a tensor; false for an element type not known here. A
// shape beyond any size is MaxUint64, which no file has.
func (t tensor) size() (uint64, bool) {
	n, ok := tensorBits[t.DType]
	if !ok {
		return 0, false
	}
	if slices.Contains(t.Shape, 0) {
		return 0, true
	}
	for _, d := range t.Shape {
		hi, lo := bits.Mul64(n, d)
		if hi != 0 {
			return ^uint64(0), true
		}
		n = lo
	}
	return n/8 + min(n%8, 1), true
}
