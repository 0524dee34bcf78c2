package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/muster-run/muster/providers"
)

// checkCSV wants a header and in every record as many fields. The last line
// must be ended, since a cut within it would leave the count right.
func checkCSV(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	if f.mark.Size == 0 {
		return errors.New("there is no header: the file is empty")
	}
	r := newCSV(f.reader(ctx))
	header := 0
	for {
		record, err := r.Read()
		switch {
		case err == io.EOF && header == 0:
			return errors.New("there is no header")
		case err == io.EOF:
			return f.endsLine()
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			return fmt.Errorf("line %d has %d fields, the header has %d", line, len(record), header)
		case err != nil:
			return csvError(err)
		case header == 0:
			header = len(record)
		}
	}
}

func csvError(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return fmt.Errorf("line %d: %w", pe.Line, pe.Err)
	}
	return err
}

// endsLine sees that the last byte is a line's end.
func (f *file) endsLine() error {
	var last [1]byte
	if _, err := f.ReadAt(last[:], f.mark.Size-1); err != nil && err != io.EOF {
		return err
	}
	if last[0] != '\n' {
		return errors.New("the last line is not ended: it may have been cut short")
	}
	return nil
}

// newCSV reads records separated by commas, or by tabs or semicolons where
// the first line holds those and no comma.
func newCSV(r io.Reader) *csv.Reader {
	b := bufio.NewReaderSize(r, 32<<10)
	first, _ := b.Peek(32 << 10)
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(first, bom) {
		b.Discard(len(bom))
	}
	c := csv.NewReader(b)
	c.ReuseRecord = true
	c.Comma = separator(first)
	return c
}

func separator(first []byte) rune {
	if i := bytes.IndexByte(first, '\n'); i >= 0 {
		first = first[:i]
	}
	for _, c := range []byte{',', '\t', ';'} {
		if bytes.IndexByte(first, c) >= 0 {
			return rune(c)
		}
	}
	return ','
}
