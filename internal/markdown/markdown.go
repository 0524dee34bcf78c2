// Package markdown escapes text of others for Markdown that a forge renders:
// the text keeps its meaning, formats nothing, opens no tag, and mentions
// nobody. The source stays readable.
package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// apart is a space of no width. A forge looks for mentions and references in rendered text,
// where a backslash is gone (github/cmark-gfm#181): behind their sign it keeps them from being
// sent out.
const apart = "\u200b"

// entities replace characters that may begin a tag, a code span or another entity: they hold
// also where something looks for these before it looks for backslashes.
var entities = map[rune]string{'<': "&lt;", '>': "&gt;", '&': "&amp;", '`': "&#96;"}

// Text is one line of text, for a paragraph, an item of a list, or a cell of a
// table.
func Text(s string) string {
	var b strings.Builder
	before, end := ' ', 0
	for i, r := range s {
		if i < end {
			continue // within an address
		}
		if n := address(s[i:]); n > 0 && !word(before) {
			b.WriteString("<" + s[i:i+n] + ">")
			before, end = '>', i+n
			continue
		}
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		after, _ := utf8.DecodeRuneInString(s[min(i+size, len(s)):])
		entity := entities[r]
		if r == '<' && unicode.IsDigit(after) {
			entity = "" // no tag begins with a digit: "<0.001" stays as it is
		}
		switch {
		case entity != "":
			b.WriteString(entity)
		case strings.ContainsRune("\\*|", r),
			r == '_' && !(word(before) && word(after)),         // within a word it means itself
			r == ']' && strings.ContainsRune("([:", after),     // a link, or its definition
			i == 0 && strings.ContainsRune("#-+=", r),          // a heading, a list, a rule
			r == '$' && word(after) && !unicode.IsDigit(after), // a formula; $40 is money
			r == '~':
			b.WriteByte('\\')
		case (r == '.' || r == ')') && numbered(s[:i]) && (i+size == len(s) || after == ' '): // a list; 0.3 is none
			b.WriteByte('\\')
		}
		if entity == "" {
			b.WriteRune(r)
		}
		if word(after) && refers(r, s[:i], after) || links(s[i:], before) {
			b.WriteString(apart)
		}
		before = r
	}
	return b.String()
}

// refers reports whether a forge takes a sign and what follows it for a person, a
// request, an issue, a label, an epic or a milestone.
func refers(sign rune, before string, after rune) bool {
	switch sign {
	case '@', '#', '!', '~':
		return true
	case '&', '%':
		return unicode.IsDigit(after)
	case '-':
		at := len(before) - len("GH")
		if at < 0 || !unicode.IsDigit(after) || !strings.EqualFold(before[at:], "GH") {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before[:at])
		return !word(last)
	}
	return false
}

// web matches an address on the web that needs no escape; no more of the text
// after it counts as a part of it.
var web = lazyregexp.New(`^https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]+)?(/[\w./~%+,@-]*)?(\?[\w./~%+,@=-]*(&[\w.~%+-]+=[\w./~%+,@-]*)*)?(#[\w./-]*)?`)

// address is how long the address is that a text begins with, 0 where it begins
// with none. Signs at its end are of the sentence.
func address(s string) int {
	if !strings.HasPrefix(s, "http") {
		return 0
	}
	return len(strings.TrimRight(web.FindString(s), ".,?:@%+~_-="))
}

// links reports whether a forge would make a link of the text after a sign:
// from there on it heeds neither backslashes nor entities.
func links(s string, before rune) bool {
	return strings.HasPrefix(s, "://") || strings.HasPrefix(s, "w.") && before == 'w'
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// numbered reports whether a line begins with a number, and with no more.
func numbered(s string) bool {
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}

// Code is text in a code span that no backtick in it can end.
func Code(s string) string {
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) == 1 {
		return ticks + s + ticks
	}
	return ticks + " " + s + " " + ticks
}
