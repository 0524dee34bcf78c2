package addr

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Pair is one axis of a key and its value's text, unquoted.
type Pair struct{ Axis, Text string }

// ValidName reports whether s can name a phase, a backend or an axis: a
// letter or _, then letters, digits, _ and -.
func ValidName(s string) bool {
	for i, r := range s {
		switch {
		case r == '_' || unicode.IsLetter(r):
		case i > 0 && (r == '-' || unicode.IsDigit(r)):
		default:
			return false
		}
	}
	return s != "" && utf8.ValidString(s)
}

// plainKey reports whether text is written in a key without quotes.
func plainKey(text string) bool {
	for i := 0; i < len(text); i++ {
		if !plainByte(text[i]) {
			return false
		}
	}
	return text != ""
}

func plainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '+' || c == '-'
}

// AppendKeyText appends an axis value's text as it belongs in a key: bare when all of it is in
// [A-Za-z0-9._+-], else as a JSON string. Unprintable characters are escaped, and so is a
// brace after $ or %, so that an address can be pasted into a campaign file as it is.
func AppendKeyText(buf []byte, text string) []byte {
	if plainKey(text) {
		return append(buf, text...)
	}
	return AppendQuoted(buf, text)
}

// AppendQuoted appends text as a JSON string in the one form keys use.
func AppendQuoted(buf []byte, text string) []byte {
	buf = append(buf, '"')
	prev := rune(0)
	for _, r := range text {
		buf = appendKeyRune(buf, prev, r)
		prev = r
	}
	return append(buf, '"')
}

func appendKeyRune(buf []byte, prev, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(buf, '\\', byte(r))
	case r == '\n':
		return append(buf, '\\', 'n')
	case r == '\t':
		return append(buf, '\\', 't')
	case r == '{' && (prev == '$' || prev == '%'):
		return append(buf, `\u007b`...)
	case unicode.IsPrint(r):
		return utf8.AppendRune(buf, r)
	case r > 0xffff:
		hi, lo := utf16.EncodeRune(r)
		return fmt.Appendf(buf, `\u%04x\u%04x`, hi, lo)
	default:
		return fmt.Appendf(buf, `\u%04x`, r)
	}
}

// ParseKey splits a key into its pairs, in the order given. A value is bare
// or a JSON string; an axis may be in it only once.
func ParseKey(key string) ([]Pair, error) {
	var pairs []Pair
	seen := map[string]bool{}
	for rest := key; rest != ""; {
		axis, val, ok := strings.Cut(rest, "=")
		if !ok || !ValidName(axis) {
			return nil, fmt.Errorf("%q is not a key: write axis=value,axis=value", clip(key))
		}
		if seen[axis] {
			return nil, fmt.Errorf("axis %s appears twice in the key %q", axis, clip(key))
		}
		seen[axis] = true
		text, n, err := keyText(val)
		if err != nil {
			return nil, fmt.Errorf("axis %s in the key %q: %w", axis, clip(key), err)
		}
		pairs = append(pairs, Pair{axis, text})
		if rest = val[n:]; rest == "" {
			break
		}
		if rest = rest[1:]; rest == "" {
			return nil, fmt.Errorf("the key %q ends with a comma", clip(key))
		}
	}
	return pairs, nil
}

// keyText reads one value up to a comma or the end and returns its length.
func keyText(s string) (text string, n int, err error) {
	if strings.HasPrefix(s, `"`) {
		text, n, err = unquote(s)
		if err == nil && n < len(s) && s[n] != ',' {
			err = errors.New("text follows the closing quote")
		}
		return text, n, err
	}
	if n = strings.IndexByte(s, ','); n < 0 {
		n = len(s)
	}
	if !plainKey(s[:n]) {
		return "", 0, fmt.Errorf("the value %q holds other characters than letters, digits and . _ + -, and must be quoted", clip(s[:n]))
	}
	return s[:n], n, nil
}

// unquote reads the JSON string at the head of s and returns its length.
func unquote(s string) (text string, n int, err error) {
	for n = 1; n < len(s) && s[n] != '"'; n++ {
		if s[n] == '\\' {
			n++
		}
	}
	if n >= len(s) {
		return "", 0, errors.New("the quote is not closed")
	}
	n++
	if !utf8.ValidString(s[:n]) {
		return "", 0, errors.New("the text is not valid UTF-8")
	}
	if err := json.Unmarshal([]byte(s[:n]), &text); err != nil {
		return "", 0, fmt.Errorf("%s is not a JSON string", clip(s[:n]))
	}
	return text, n, nil
}
