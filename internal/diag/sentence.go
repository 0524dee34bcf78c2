package diag

import "strings"

// Sentence begins a sentence with a capital letter. An address, a path or a
// command stays as it is written.
func Sentence(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || word == "muster" || strings.ContainsAny(word, "./[=") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Lower makes a sentence follow a colon.
func Lower(s string) string {
	if len(s) > 1 && (s[1] >= 'a' && s[1] <= 'z' || s[:2] == "A ") {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// FromError is a plumbing error for people: its first line, and the rest below.
func FromError(err error) Diagnostic {
	first, rest, _ := strings.Cut(err.Error(), "\n")
	return Diagnostic{Summary: Sentence(first), Detail: strings.TrimSpace(rest)}
}
