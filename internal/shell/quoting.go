package shell

import (
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
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

// A Position is where a piece of shell text ended.
type Position struct {
	Quoting
	until string // the line that ends a here-document, from the next line on
	plain bool   // a shell expands nothing in that here-document
	in    *nest  // the text around this one; nil = none
}

// A nest is text between brackets or backquotes, in which quoting begins again: in
// "$(cat $x)" the shell splits $x.
type nest struct {
	ends  string // ")", "`", "}", "esac", or "))" of arithmetic
	outer Position
}

// After is the place behind a piece of shell text.
func (p Position) After(text string) Position {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; p.Quoting {
		case Bare:
			p, i = p.bare(text, i)
		case Double:
			switch {
			case c == '\\':
				i++
			case c == '"':
				p.Quoting = Bare
			case c == '}' && p.in != nil && p.in.ends == "}":
				p = p.in.outer
			default:
				p, i = p.nested(text, i)
			}
		case Single:
			if c == '\'' {
				p.Quoting = Bare
			}
		case Comment:
			if c == '\n' {
				p.Quoting = Bare
			}
		case Heredoc:
			p, i = p.document(text, i)
			continue
		}
		if i < len(text) && text[i] == '\n' && p.until != "" && p.Quoting == Bare {
			p.Quoting = Heredoc
		}
	}
	return p
}

// bare reads one element of text outside quotes, and gives the place behind it and its
// last byte.
func (p Position) bare(text string, i int) (Position, int) {
	rest := text[i:]
	switch c := text[i]; {
	case p.in != nil && strings.HasPrefix(rest, p.in.ends) && (p.in.ends != "esac" || begins.MatchString(text[:i])):
		return p.in.outer, i + len(p.in.ends) - 1
	case c == '\\':
		return p, i + 1
	case c == '"':
		p.Quoting = Double
	case c == '\'':
		p.Quoting = Single
	case p.in != nil && (p.in.ends == "))" || p.in.ends == "}"): // no comments and here-documents there
		return p.nested(text, i)
	case c == '(':
		return Position{in: &nest{")", p}}, i
	case strings.HasPrefix(rest, "case") && begins.MatchString(text[:i]) && len(rest) > 4 && strings.IndexByte(" \t\n", rest[4]) >= 0:
		return Position{in: &nest{"esac", p}}, i + 3 // its patterns end with a bracket that nothing opens
	case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", text[i-1]) >= 0):
		p.Quoting = Comment
	case strings.HasPrefix(rest, "<<<"):
		return p, i + 2
	case strings.HasPrefix(rest, "<<"):
		word := delimiter.FindString(text[i+2:])
		p.until = unquote.Replace(strings.TrimLeft(word, "- \t"))
		p.plain = strings.ContainsAny(word, `'"\`)
		return p, i + 1 + len(word)
	default:
		return p.nested(text, i)
	}
	return p, i
}

// nested begins a substitution, which double quotes do not keep from it.
func (p Position) nested(text string, i int) (Position, int) {
	for _, n := range []struct{ begins, ends string }{{"$((", "))"}, {"$(", ")"}, {"`", "`"}} {
		if strings.HasPrefix(text[i:], n.begins) {
			return Position{in: &nest{n.ends, p}}, i + len(n.begins) - 1
		}
	}
	if strings.HasPrefix(text[i:], "${") { // quoted as its context is
		inner := p
		inner.in = &nest{"}", p}
		return inner, i + 1
	}
	return p, i
}

var (
	begins    = lazyregexp.New(`(^|[;&|({\n]|\b(do|then|else))[ \t]*$`) // a command, behind this
	delimiter = lazyregexp.New(`^-?[ \t]*(?:'[^'\n]*'|"[^"\n]*"|[^ \t\n;&|<>()'"])+`)
	unquote   = strings.NewReplacer("'", "", `"`, "", `\`, "")
)

// document reads one element of a here-document, and gives the place behind it and its
// last byte. Its text is not split, but in a substitution quoting begins again.
func (p Position) document(text string, i int) (Position, int) {
	if i > 0 && text[i-1] == '\n' {
		line, _, _ := strings.Cut(text[i:], "\n")
		if strings.TrimLeft(line, "\t") == p.until {
			return Position{in: p.in}, i + len(line) // its line break, or the end
		}
	}
	switch c := text[i]; {
	case p.plain:
		return p, i
	case c == '\\':
		return p, i + 1
	case c == '}' && p.in != nil && p.in.ends == "}":
		return p.in.outer, i
	}
	return p.nested(text, i)
}
