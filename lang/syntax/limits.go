package syntax

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Bounds of a source that HCL is asked to read. Its parser and its evaluation
// recurse, so endless nesting would end the program, not the reading.
const (
	maxNesting    = 250    // brackets within brackets
	maxChain      = 10_000 // operators, calls and indices after one another
	maxDigits     = 10_000 // of one number: reading it takes the square of them
	maxDirectives = 10_000 // %{ } in all of the source
)

// CheckText refuses a source that is no text, or nested too deeply to be read,
// without parsing it. The bounds are far beyond all that people write.
func CheckText(src []byte) error {
	if !utf8.Valid(src) {
		at := invalidAt(src)
		return fmt.Errorf("line %d: the byte %#02x is not valid UTF-8", line(src, at), src[at])
	}
	if n := bytes.Count(src, []byte("%{")); n > maxDirectives {
		return fmt.Errorf("it has %d template directives, at most %d are read", n, maxDirectives)
	}
	chain := make([]int, 1, 32) // operators per open bracket
	var open []byte
	digits := 0 // in a row
	for i, c := range src {
		top := len(chain) - 1
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits > maxDigits {
			return fmt.Errorf("line %d: a number has more than %d digits", line(src, i), maxDigits)
		}
		switch c {
		case '{', '[', '(':
			chain[top]++
			open, chain = append(open, c), append(chain, 0)
			if len(open) > maxNesting {
				return fmt.Errorf("line %d: brackets are nested more than %d deep", line(src, i), maxNesting)
			}
		case '}', ']', ')':
			if top > 0 {
				open, chain = open[:top-1], chain[:top]
			}
		case '\n':
			if top == 0 || open[top-1] == '{' {
				chain[top] = 0
			}
		case ',':
			chain[top] = 0
		case '+', '-', '*', '/', '%', '!', '?', '&', '|', '<', '>', '.':
			chain[top]++
		}
		if chain[len(chain)-1] > maxChain {
			return fmt.Errorf("line %d: an expression has more than %d operators", line(src, i), maxChain)
		}
	}
	return nil
}

func line(src []byte, at int) int { return bytes.Count(src[:at], []byte("\n")) + 1 }

// invalidAt is the offset of the first byte that is not UTF-8.
func invalidAt(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return 0
}
