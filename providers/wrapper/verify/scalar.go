package verify

import (
	"fmt"
	"io"
)

// scalar skips a number or a word whose first byte is read.
func (s *scanner) scalar(c byte) error {
	at := s.offset() - 1
	switch {
	case c == 't':
		return s.word(at, "true")
	case c == 'f':
		return s.word(at, "false")
	case c == 'n':
		return s.word(at, "null")
	case c == 'N':
		return s.python(at, "NaN")
	case c == 'I':
		return s.python(at, "Infinity")
	case c == '-' || '0' <= c && c <= '9':
		return s.number(at, c)
	case c == 0xef && at == 0:
		return fmt.Errorf("the file begins with a byte order mark, which JSON does not allow")
	}
	return s.unexpected(c)
}

// word skips the rest of a word.
func (s *scanner) word(at int64, want string) error {
	for i := 1; i < len(want); i++ {
		c, err := s.next()
		if err != nil {
			return err
		}
		if c != want[i] {
			return s.unexpected(c)
		}
	}
	return nil
}

// python reports the words that Python's json.dump writes and JSON lacks.
func (s *scanner) python(at int64, want string) error {
	if err := s.word(at, want); err != nil {
		return err
	}
	return fmt.Errorf("%s at byte %d is not JSON (Python's json.dump writes it unless allow_nan=False); "+
		"if it is the result, the computation diverged, else write null", want, at)
}

// number passes over -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number(at int64, c byte) (err error) {
	if c == '-' {
		if c, err = s.next(); err != nil {
			return err
		}
		if c == 'I' {
			return s.python(at+1, "Infinity")
		}
	}
	switch {
	case '1' <= c && c <= '9':
		if err := s.digits(); err != nil {
			return err
		}
	case c != '0':
		return s.unexpected(c)
	}
	if c, err = s.peek(); err == nil && c == '.' {
		s.pos++
		if err := s.someDigits(); err != nil {
			return err
		}
	}
	if c, err = s.peek(); err == nil && (c == 'e' || c == 'E') {
		s.pos++
		if c, err = s.peek(); err == nil && (c == '+' || c == '-') {
			s.pos++
		}
		return s.someDigits()
	}
	return eofIsFine(err)
}

func (s *scanner) someDigits() error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c < '0' || c > '9' {
		return s.unexpected(c)
	}
	return s.digits()
}

func (s *scanner) digits() error {
	for {
		c, err := s.peek()
		if err != nil || c < '0' || c > '9' {
			return eofIsFine(err)
		}
		s.pos++
	}
}

func eofIsFine(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
