package verify

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-run/muster/providers"
)

// checkJSON wants exactly one JSON value in the file. RFC 8259.
func checkJSON(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	s := scan(ctx, f)
	if err := s.value(); err != nil {
		return err
	}
	switch c, err := s.skip(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("the value ends before byte %d, where %s follows", s.offset(), quoted(c))
	}
}

// checkJSONL wants one JSON value a line, and at least one.
func checkJSONL(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	s := scan(ctx, f)
	s.oneLine = true
	for n := 1; ; n++ {
		c, err := s.skip()
		switch {
		case err == io.EOF && s.lines == 0:
			return errors.New("there is no line in the file")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c == '\n':
			s.pos++
			continue
		}
		if err := s.line(c); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// line reads a value and the end of its line. It accepts a last line without an end if the
// value is complete by its own form.
func (s *scanner) line(first byte) error {
	if err := s.value(); err != nil {
		return err
	}
	s.lines++
	c, err := s.skip()
	switch {
	case err == io.EOF && (first == '{' || first == '[' || first == '"'):
		return nil
	case err == io.EOF:
		return fmt.Errorf("unexpected end at byte %d", s.offset())
	case err != nil:
		return err
	case c != '\n':
		return fmt.Errorf("the value ends before byte %d, where %s follows", s.offset(), quoted(c))
	}
	s.pos++
	return nil
}
