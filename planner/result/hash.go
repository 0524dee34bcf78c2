package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is the first 128 bits of a SHA-256.
type Hash [16]byte

// String is the hash as 32 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash as hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	out, ok := ParseHash(string(b))
	if !ok {
		return fmt.Errorf("%q is no hash", b)
	}
	*h = out
	return nil
}

// IsZero reports whether the hash was never computed.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash reads 32 hex digits; anything else is no hash.
func ParseHash(s string) (h Hash, ok bool) {
	if len(s) != 2*len(h) {
		return Hash{}, false
	}
	for i := range h {
		hi, lo := nibble(s[2*i]), nibble(s[2*i+1])
		if hi > 15 || lo > 15 {
			return Hash{}, false
		}
		h[i] = hi<<4 | lo
	}
	return h, true
}

// Is compares with hex digits; a record is compared for every job of a plan.
func (h *Hash) Is(digits string) bool {
	const hexDigits = "0123456789abcdef"
	if len(digits) != 2*len(h) {
		return false
	}
	for i, b := range h {
		if digits[2*i] != hexDigits[b>>4] || digits[2*i+1] != hexDigits[b&15] {
			return false
		}
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func sum(buf []byte) (h Hash) {
	s := sha256.Sum256(buf)
	copy(h[:], s[:len(h)])
	return h
}
