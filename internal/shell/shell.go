// Package shell knows how a POSIX shell parses each place in its text, and
// quotes words so that it parses them unchanged.
package shell

import "strings"

// Quote writes a word as a person would: in single quotes only if it needs them.
func Quote(word string) string {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._+-/:=@%,", c) >= 0
	}
	if plain {
		return word
	}
	return Enclose(word)
}

// Enclose writes a word in single quotes.
func Enclose(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
