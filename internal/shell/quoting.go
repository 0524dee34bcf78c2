package shell

import (
	"regexp"
	"strings"
)

// Quoting is how a shell reads the place where a value is spliced in.
type Quoting int

// The places where shell text may go on.
const (
	Bare Quoting = iota
	Double
	Single
	Comment
	Heredoc // nothing is said of it: its text is not split
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

// A Place is where a piece of shell text ended.
type Place struct {
	Quoting
	until string // the line that ends a here-document, from the next line on
}

// After is the place behind a piece of shell text.
func (p Place) After(text string) Place {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if p.Quoting == Heredoc {
			if i = p.pass(text, i); i < 0 {
				return p
			}
			p = Place{}
			continue
		}
		switch p.Quoting {
		case Bare:
			switch {
			case c == '\\':
				i++
			case c == '"':
				p.Quoting = Double
			case c == '\'':
				p.Quoting = Single
			case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", text[i-1]) >= 0):
				p.Quoting = Comment
			case strings.HasPrefix(text[i:], "<<<"):
				i += 2
			case strings.HasPrefix(text[i:], "<<"):
				word := delimiter.FindString(text[i+2:])
				p.until = unquote.Replace(strings.TrimLeft(word, "- \t"))
				i += 1 + len(word)
			}
		case Double:
			if c == '\\' {
				i++
			} else if c == '"' {
				p.Quoting = Bare
			}
		case Single:
			if c == '\'' {
				p.Quoting = Bare
			}
		case Comment:
			if c == '\n' {
				p.Quoting = Bare
			}
		}
		if c == '\n' && p.until != "" && p.Quoting == Bare {
			p.Quoting = Heredoc
			if i = p.pass(text, i); i < 0 {
				return p
			}
			p = Place{}
		}
	}
	return p
}

var (
	delimiter = regexp.MustCompile(`^-?[ \t]*(?:'[^'\n]*'|"[^"\n]*"|[^ \t\n;&|<>()'"])+`)
	unquote   = strings.NewReplacer("'", "", `"`, "", `\`, "")
)

// pass is where the last line of a here-document ends, from a point in it on; -1 if not
// in this text.
func (p Place) pass(text string, i int) int {
	for {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return -1
		}
		i += n + 1
		line, _, _ := strings.Cut(text[i:], "\n")
		if strings.TrimLeft(line, "\t") == p.until {
			return i + len(line) // its line break, or the end
		}
	}
}
