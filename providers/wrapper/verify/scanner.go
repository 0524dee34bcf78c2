package verify

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth bounds nesting, as encoding/json does.
const maxDepth = 10_000

// A scanner walks over JSON without keeping it: memory is one chunk and a
// byte for each level of nesting.
type scanner struct {
	r        io.Reader // nil: buf is all there is
	buf      []byte
	pos, end int
	base     int64  // offset of buf[0]
	stack    []byte // '{' or '['
	oneLine  bool   // a line's end is no white space; jsonl
	lines    int
}

func scan(ctx context.Context, f *file) *scanner {
	if f.data != nil {
		return &scanner{buf: f.data, end: len(f.data)}
	}
	return &scanner{r: f.reader(ctx), buf: make([]byte, chunk)}
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// peek is the byte at the position; io.EOF at the end.
func (s *scanner) peek() (byte, error) {
	for s.pos == s.end {
		if s.r == nil {
			return 0, io.EOF
		}
		n, err := s.r.Read(s.buf)
		s.base += int64(s.end)
		s.pos, s.end = 0, n
		if n == 0 && err != nil {
			return 0, err
		}
	}
	return s.buf[s.pos], nil
}

// next takes a byte that must be there.
func (s *scanner) next() (byte, error) {
	c, err := s.peek()
	if err == io.EOF {
		return 0, fmt.Errorf("unexpected end at byte %d", s.offset())
	}
	if err == nil {
		s.pos++
	}
	return c, err
}

// skip skips white space and peeks at the next byte.
func (s *scanner) skip() (byte, error) {
	for {
		c, err := s.peek()
		if err != nil {
			return c, err
		}
		if c != ' ' && c != '\t' && c != '\r' && (c != '\n' || s.oneLine) {
			return c, nil
		}
		s.pos++
	}
}

// token takes the next byte that is no white space and must be there.
func (s *scanner) token() (byte, error) {
	if _, err := s.skip(); err != nil && err != io.EOF {
		return 0, err
	}
	return s.next()
}

// value passes over one value.
func (s *scanner) value() error {
	s.stack = s.stack[:0]
	for {
		open, err := s.begin()
		if err != nil {
			return err
		}
		if open {
			continue
		}
		if done, err := s.after(); done || err != nil {
			return err
		}
	}
}

// begin passes over a scalar or an empty container, or opens a container and
// goes to the first value in it.
func (s *scanner) begin() (open bool, err error) {
	c, err := s.token()
	if err != nil {
		return false, err
	}
	switch c {
	case '{', '[':
		if len(s.stack) == maxDepth {
			return false, fmt.Errorf("nested deeper than %d at byte %d", maxDepth, s.offset()-1)
		}
		next, err := s.skip()
		if err == nil && next == c+2 { // '}' is '{'+2, ']' is '['+2
			s.pos++
			return false, nil
		}
		s.stack = append(s.stack, c)
		if c == '{' {
			return true, s.key()
		}
		return true, nil
	case '"':
		return false, s.text()
	}
	return false, s.scalar(c)
}

// after follows a value: it closes containers, and ends at the next value or,
// done, at the end of the outermost one.
func (s *scanner) after() (done bool, err error) {
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		c, err := s.token()
		switch {
		case err != nil:
			return false, err
		case c == ',' && top == '{':
			return false, s.key()
		case c == ',':
			return false, nil
		case c == top+2:
			s.stack = s.stack[:len(s.stack)-1]
		default:
			return false, s.unexpected(c)
		}
	}
	return true, nil
}

// key passes over a name and its colon.
func (s *scanner) key() error {
	c, err := s.token()
	if err != nil {
		return err
	}
	if c != '"' {
		return s.unexpected(c)
	}
	if err := s.text(); err != nil {
		return err
	}
	if c, err = s.token(); err == nil && c != ':' {
		err = s.unexpected(c)
	}
	return err
}

// text passes over a string whose quote is taken.
func (s *scanner) text() error {
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == '"':
			return nil
		case c == '\\':
			err = s.escape()
		case c < 0x20:
			err = fmt.Errorf("control character %s in a string at byte %d", quoted(c), s.offset()-1)
		case c >= utf8.RuneSelf:
			err = s.rune(c)
		}
		if err != nil {
			return err
		}
	}
}

func (s *scanner) escape() error {
	c, err := s.next()
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return err
	case 'u':
		for range 4 {
			if c, err = s.next(); err != nil {
				return err
			}
			if !isHex(c) {
				return s.unexpected(c)
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	return s.unexpected(c)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// rune passes over a character of several bytes, whose first is taken.
func (s *scanner) rune(first byte) error {
	at := s.offset() - 1
	p := [utf8.UTFMax]byte{first}
	for n := 1; n < utf8.UTFMax && !utf8.FullRune(p[:n]); n++ {
		c, err := s.next()
		if err != nil {
			return err
		}
		p[n] = c
	}
	if r, n := utf8.DecodeRune(p[:]); r == utf8.RuneError && n < 2 {
		return fmt.Errorf("the text is not UTF-8 at byte %d", at)
	}
	return nil
}

func (s *scanner) unexpected(c byte) error {
	return fmt.Errorf("unexpected %s at byte %d", quoted(c), s.offset()-1)
}

func quoted(c byte) string {
	if c == '\n' {
		return "end of line"
	}
	if c < 0x20 || c >= 0x7f {
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", rune(c))
}
