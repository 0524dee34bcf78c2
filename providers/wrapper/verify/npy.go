package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// maxNPYHeader bounds the header of an array, in bytes.
const maxNPYHeader = 1 << 20

var (
	npyDescr = lazyregexp.New(`'descr':\s*'[<>|=]?([a-zA-Z?])(\d*)`)
	npyShape = lazyregexp.New(`'shape':\s*\(([0-9, L]*)\)`)
)

// checkNPY reads the header of an array and compares its extent with size,
// the bytes of header and data. Of arrays of Python objects and of records
// only the header is checked. numpy.lib.format, "Format Version 1.0".
func checkNPY(r io.Reader, size uint64) error {
	header, start, err := npyHeader(r)
	if err != nil {
		return err
	}
	shape := npyShape.FindStringSubmatch(header)
	if shape == nil || !strings.Contains(header, "'descr':") || !strings.Contains(header, "'fortran_order':") {
		return errors.New("npy: the header lacks descr, fortran_order or shape")
	}
	descr := npyDescr.FindStringSubmatch(header)
	if descr == nil || descr[1] == "O" {
		return nil
	}
	want, ok := npySize(descr[1], descr[2], shape[1])
	if !ok {
		return errors.New("npy: the shape is larger than any file")
	}
	if want += start; want != size {
		return fmt.Errorf("npy: %d bytes, its header asks for %d", size, want)
	}
	return nil
}

func npyHeader(r io.Reader) (header string, start uint64, err error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:8]); err != nil {
		return "", 0, errors.New("npy: cut short before its header")
	}
	if string(head[:6]) != "\x93NUMPY" {
		return "", 0, errors.New("npy: it does not begin like an array")
	}
	wide := 4
	if head[6] == 1 {
		wide = 2
	}
	if _, err := io.ReadFull(r, head[8:8+wide]); err != nil {
		return "", 0, errors.New("npy: cut short before its header")
	}
	n := binary.LittleEndian.Uint32(head[8:]) // version 1 leaves its upper half zero
	if n > maxNPYHeader {
		return "", 0, fmt.Errorf("npy: the header cannot have %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", 0, errors.New("npy: cut short within its header")
	}
	return string(text), uint64(8 + wide + int(n)), nil
}

// npySize is items × item size; false on overflow.
func npySize(kind, width, shape string) (uint64, bool) {
	size, err := strconv.ParseUint(width, 10, 32)
	if err != nil {
		size = 1 // '?' and the like
	}
	if kind == "U" {
		size *= 4 // UCS-4
	}
	for _, d := range strings.Split(shape, ",") {
		d = strings.TrimSuffix(strings.TrimSpace(d), "L")
		if d == "" {
			continue
		}
		n, err := strconv.ParseUint(d, 10, 63)
		if err != nil {
			return 0, false
		}
		hi, lo := bits.Mul64(size, n)
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		size = lo
	}
	return size, true
}
