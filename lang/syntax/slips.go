package syntax

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// A slip words a parser's error as muster does, where the text shows the intention.
type slip struct {
	of      string             // HCL's summary
	at      *lazyregexp.Regexp // of the text from the place on; nil: any
	before  *lazyregexp.Regexp // of its line up to the place; nil: any
	line    *lazyregexp.Regexp // of its whole line; nil: any
	summary string
	detail  string // $1 … are the groups of at, else those of line
}

// HCL's summaries that say many things.
const (
	wantsItem    = "Argument or block definition required"
	wantsValue   = "Invalid expression"
	wantsNewline = "Missing newline after argument"
)

// unclosed is replaced by a detail that names the line of the open bracket.
const unclosed = "unclosed"

// Messages about quotes.
const (
	quoteInText    = "A quote within a text"
	quoteInTextHow = `The text ends at the second quote. Write \" for a quote that belongs to it, or the text as a heredoc: <<-EOT, the lines, and EOT on a line of its own.`
	singleQuote    = "Use double quotes for strings"
	curlyQuote     = "Use straight quotes for strings"
	escapedQuote   = "A quote in ${ … } has no backslash"
)

// quoteWithin is a line on which a text goes on, without a space, behind the quote
// that ends it.
var quoteWithin = lazyregexp.New(`=\s*"([^"\\]|\\.)*"[^"\s,;\]):?}=!<>&|+*/%.-]`)

var slips = []slip{
	{of: wantsItem, line: lazyregexp.New(`^\s*([A-Za-z_][\w-]*)\s*:\s*(.*)`), summary: "An attribute has an equals sign", detail: "Write $1 = … in the place of the colon."},
	{of: wantsItem, at: lazyregexp.New(`^(--|;|%|/)`), summary: "This is neither an attribute nor a block", detail: "A comment begins with # or //."},
	{of: wantsItem, at: lazyregexp.New(`^([A-Za-z_][\w-]*)[ \t\r]*\n\s*\{`), summary: "Put the brace on the line of its block", detail: "Write $1 { on one line."},
	{of: "Invalid block definition", line: lazyregexp.New(`^\s*([A-Za-z_][\w-]*)\s+("[^"]*"|\d\S*)\s*$`), summary: "The equals sign is missing", detail: "If $1 is an attribute, write $1 = …; if it is a block, its brace opens on the same line: $1 … {."},
	{of: wantsValue, at: lazyregexp.New(`^<`), line: lazyregexp.New(`<<`), summary: "This opens no heredoc", detail: "Write <<EOT or <<-EOT without a space or quotes, and end the line there."},
	{of: wantsValue, at: lazyregexp.New(`^\r?\n`), summary: "The value is missing", detail: "Write it after the equals sign, on the same line; put strings in quotes."},
	{of: wantsNewline, line: quoteWithin, summary: quoteInText, detail: quoteInTextHow},
	{of: wantsNewline, at: lazyregexp.New(`^=`), summary: "One equals sign too many", detail: "To compare, write ==; to set another attribute, begin a new line."},
	{of: wantsNewline, at: lazyregexp.New(`^and\b`), summary: "There is no operator and", detail: "Write && for and, || for or, ! for not."},
	{of: wantsNewline, at: lazyregexp.New(`^or\b`), summary: "There is no operator or", detail: "Write && for and, || for or, ! for not."},
	{of: wantsNewline, line: lazyregexp.New(`=\s*not\s`), summary: "There is no operator not", detail: "Write && for and, || for or, ! for not."},
	{of: wantsNewline, at: lazyregexp.New(`^\}`), summary: "A closing brace follows the last value", detail: "Put it on its own line: only a block of one attribute may be on one line, with both braces."},
	{of: wantsNewline, line: lazyregexp.New(`([A-Za-z_][\w-]*)\s*=\s*(\d[\w.:+-]*)\s*\}?\s*$`), summary: "Put strings in quotes", detail: `Write $1 = "$2".`},
	{of: wantsNewline, summary: "Unexpected text after the value", detail: "A new line is expected here. Put strings in quotes, and lists in brackets: [ … ]."},
	{of: "Missing item separator", summary: "A comma or a closing bracket is missing", detail: unclosed},
	{of: "Missing argument separator", summary: "A comma or a closing parenthesis is missing", detail: unclosed},
	{of: "Unbalanced parentheses", summary: "A closing parenthesis is missing", detail: unclosed},
	{of: "Invalid character", before: shellOpens, at: lazyregexp.New(`^\\"`), summary: escapedQuote, detail: `What is in ${ … } is no part of the text around it: write ${join(" ", …)}.`},
	{of: "Invalid character", before: shellOpens, summary: shells, detail: shellsOwn},
	{of: "Extra characters after interpolation expression", before: shellOpens, summary: shells, detail: shellsOwn},
	{of: "Invalid template control keyword", before: lazyregexp.New(`%\{~?$`), at: lazyregexp.New(`^([^\s}"]*\})`), summary: "muster has no such directive", detail: "%{ … } is a directive of muster, if or for. For these characters themselves write %%{$1."},
	{of: "Invalid escape sequence", at: lazyregexp.New(`^(\\.)`), summary: "A backslash in quotes is written twice", detail: `Write \$1 for $1.`},
	{of: "Invalid character", line: quoteWithin, summary: quoteInText, detail: quoteInTextHow},
	{of: "Invalid character", at: lazyregexp.New(`^['‘’]`), summary: singleQuote, detail: `Write "…" in the place of '…'.`},
	{of: "Invalid character", at: lazyregexp.New(`^[“”„«»]`), summary: curlyQuote, detail: `Write "…" with straight quotes; word processors and chats turn them.`},
	{of: "Invalid character", at: lazyregexp.New(`^;`), summary: "A semicolon ends nothing here", detail: "Each attribute has a line of its own, without one."},
	{of: "Unclosed configuration block", summary: "A closing brace is missing", detail: "The block that opens here has no } before the end of the file. A brace may be missing in a block within it, too."},
	{of: "Invalid block definition", line: lazyregexp.New(`^\s*([A-Za-z_][\w-]*(\s+"[^"]*")*)\s*=\s*\{`), summary: "A block has no equals sign", detail: "Write $1 { without it."},
}

// reworded is the slip that an error of syntax is, if its text shows which.
func reworded(d diag.Diagnostic, src []byte) (diag.Diagnostic, bool) {
	if d.Subject == nil || d.Subject.Start.Byte > len(src) {
		return d, false
	}
	at := d.Subject.Start.Byte
	from := bytes.LastIndexByte(src[:at], '\n') + 1
	rest, line := src[at:], src[from:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	for _, s := range slips {
		if s.of != d.Summary {
			continue
		}
		if s.before != nil && !s.before.Match(src[from:at]) {
			continue
		}
		detail := []byte(s.detail)
		if s.line != nil {
			m := s.line.FindSubmatchIndex(line)
			if m == nil {
				continue
			}
			detail = s.line.Expand(nil, detail, line, m)
		}
		if s.at != nil {
			m := s.at.FindSubmatchIndex(rest)
			if m == nil {
				continue
			}
			if s.line == nil {
				detail = s.at.Expand(nil, detail, rest, m)
			}
		}
		d.Summary, d.Detail = s.summary, string(detail)
		if s.detail == unclosed {
			d.Detail = fmt.Sprintf("The bracket opened on line %d is not closed before this.", openedOn(d))
		}
		return d, true
	}
	return d, false
}

func openedOn(d diag.Diagnostic) int {
	if d.Context != nil {
		return d.Context.Start.Line
	}
	return d.Subject.Start.Line
}

// oneSlipALine keeps the first error of each line, or the one about a
// character that has no meaning or a brace that is missing: the parser's
// others follow from it. So do
// those in the text of a heredoc that did not open.
func oneSlipALine(ds diag.List, src []byte) diag.List {
	var out diag.List
	at := map[int]int{} // line → in out
	text := 0           // the last line of such a text
	for _, d := range ds {
		if d.Subject == nil {
			out = append(out, d)
			continue
		}
		if d.Subject.Start.Line <= text {
			continue
		}
		if d.Summary == wantsValue {
			text = max(text, endOfText(src, *d.Subject))
		}
		k, seen := at[d.Subject.Start.Line]
		a, above := at[d.Subject.Start.Line-1]
		switch {
		case above && (d.Summary == quoteOpen || out[a].Summary == shells):
			// A quote is open because of an error above.
		case !seen:
			at[d.Subject.Start.Line] = len(out)
			out = append(out, d)
		case strongest(d.Summary) && !strongest(out[k].Summary):
			out[k] = d
		}
	}
	return out
}

var misopened = lazyregexp.New(`^<<-?[ \t]*["']?([A-Za-z_]\w*)`)

func strongest(summary string) bool {
	return summary == "Invalid character" || summary == quoteInText || summary == singleQuote || summary == curlyQuote || summary == "Unclosed template interpolation sequence"
}

// endOfText is the line that ends a heredoc which begins wrongly; 0 when none
// begins here, or it has no end.
func endOfText(src []byte, at hcl.Range) int {
	rest := src[min(at.Start.Byte, len(src)):]
	m := misopened.FindSubmatch(rest)
	if m == nil {
		return 0
	}
	for k, line := range bytes.Split(rest, []byte("\n"))[1:] {
		if string(bytes.TrimSpace(line)) == string(m[1]) {
			return at.Start.Line + 1 + k
		}
	}
	return 0
}

// isSecondItem reports whether the text at the expected end of a one-line block begins another
// item, and is not part of a value.
func isSecondItem(src []byte, at *hcl.Range) bool {
	if at == nil || at.Start.Byte >= len(src) {
		return true
	}
	rest := string(src[at.Start.Byte:])
	return strings.ContainsRune(",;\n\r{#/", rune(rest[0])) || beginsItem(rest)
}
