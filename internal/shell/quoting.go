package shell

import "strings"

// Quoting is how a shell reads the place where a value is spliced in.
type Quoting int

// The places where shell text may go on.
const (
	Bare Quoting = iota
	Double
	Single
	Comment
	Heredoc // from here on nothing is said: its text is not split
)

// special are the bytes that a shell does not take as they are.
var special = map[Quoting]string{
	Bare:   " \t\n|&;<>()$`\\\"'*?[#",
	Double: "$`\\\"",
	Single: "'",
}

// Special are the bytes that a shell does not take as they are there.
func (q Quoting) Special() string { return special[q] }

// Splitting are the special bytes at which a shell ends a word there.
func (q Quoting) Splitting() string {
	if q == Bare {
		return " \t\n|&;<>()"
	}
	return ""
}

// After is the quoting behind a piece of shell text.
func (q Quoting) After(text string) Quoting {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch q {
		case Bare:
			switch {
			case c == '\\':
				i++
			case c == '"':
				q = Double
			case c == '\'':
				q = Single
			case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", text[i-1]) >= 0):
				q = Comment
			case c == '<' && i+1 < len(text) && text[i+1] == '<':
				return Heredoc
			}
		case Double:
			if c == '\\' {
				i++
			} else if c == '"' {
				q = Bare
			}
		case Single:
			if c == '\'' {
				q = Bare
			}
		case Comment:
			if c == '\n' {
				q = Bare
			}
		}
	}
	return q
}
