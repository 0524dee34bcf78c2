package aris

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/internal/diag"
)

// A jsonReader reads JSON with the line of each value, which encoding/json
// alone does not tell.
type jsonReader struct {
	name  string
	src   []byte
	dec   *json.Decoder
	ds    diag.List
	line  int // of offset at
	at    int
	nodes int
}

func readJSON(name string, src []byte) (*node, diag.List) {
	r := &jsonReader{name: name, src: src, dec: json.NewDecoder(bytes.NewReader(src)), line: 1}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err == nil {
		if _, more := r.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end of the value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends in the middle of a value")
		}
		r.ds.Errorat(r.here(int(r.dec.InputOffset())), "The manifest is not valid JSON", "%v.", err)
	}
	return n, r.ds
}

// here is the place of a byte. Places only move forward, so lines are counted
// once.
func (r *jsonReader) here(offset int) (at hclRange) {
	offset = min(offset, len(r.src))
	for r.at < offset {
		if r.src[r.at] == '\n' {
			r.line++
		}
		r.at++
	}
	return lineRange(r.name, r.line, offset-bytes.LastIndexByte(r.src[:offset], '\n'), offset)
}

// start is where the next token begins: after blanks, commas and colons.
func (r *jsonReader) start() hclRange {
	i := int(r.dec.InputOffset())
	for i < len(r.src) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src[i]) >= 0 {
		i++
	}
	return r.here(i)
}

func (r *jsonReader) value(depth int) (*node, error) {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d or has more than %d values", maxDepth, maxNodes)
	}
	n := &node{at: r.start(), json: true}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		return n, r.inside(n, t, depth)
	case string:
		if strings.ContainsAny(t, "\x00\x01\x02") {
			return nil, errors.New("a text holds a control character")
		}
		n.text = t
	case json.Number:
		n.text, n.plain = t.String(), true
	case bool:
		n.text, n.plain = fmt.Sprint(t), true
	case nil:
		n.text, n.plain = "null", true
	}
	return n, nil
}

func (r *jsonReader) inside(n *node, open json.Delim, depth int) error {
	n.kind = list
	if open == '{' {
		n.kind = mapping
	}
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if n.kind == list {
			n.items = append(n.items, v)
			continue
		}
		val, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.keys = append(n.keys, member{v, val})
	}
	duplicates(n, &r.ds)
	_, err := r.dec.Token()
	return err
}
