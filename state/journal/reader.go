package journal

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// A Reader reads a journal line by line, with the checks of Parse. It keeps none of
// the lines: the journal of a large run is larger than its state.
type Reader struct {
	Header Header

	j   Journal
	r   *bufio.Reader
	seq uint64 // of the line before
}

// NewReader reads the header of the journal at a path.
func NewReader(path string, r io.Reader) (*Reader, error) {
	n := &Reader{j: Journal{Path: path}, r: bufio.NewReaderSize(r, 1<<20)}
	head, err := n.r.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil, n.j.damage(0, noHeader)
	}
	if err != nil {
		return nil, err
	}
	if err := n.j.parseHeader(strings.TrimSuffix(head, "\n")); err != nil {
		return nil, err
	}
	n.j.Size, n.Header, n.seq = int64(len(head)), n.j.Header, n.j.Header.After.Seq
	return n, nil
}

// Next is the next line; io.EOF ends them. A last line without a newline was never
// acknowledged and is left out.
func (n *Reader) Next() (Line, error) {
	text, err := n.r.ReadString('\n')
	if err != nil {
		return Line{}, err
	}
	l, err := n.j.line(strings.TrimSuffix(text, "\n"), n.seq+1)
	if err == nil {
		n.j.Size, n.seq = n.j.Size+int64(len(text)), l.Seq
	}
	return l, err
}
