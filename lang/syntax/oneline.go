package syntax

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/lang/wording"
)

// syntaxHints replaces, in muster's words, HCL's message about its commonest
// stumbling block: two attributes or a block in a one-line block.
func syntaxHints(hds hcl.Diagnostics, src []byte) diag.List {
	ds := diag.FromHCL(hds)
	for i, h := range hds {
		switch {
		case h.Summary == twoAttributes && !isSecondItem(src, h.Subject):
			ds[i].Summary = wantsNewline
		case h.Summary == twoAttributes:
			ds[i].Summary = "Two attributes in a one-line block"
			ds[i].Detail = "HCL allows one attribute in a one-line block. " + spread(src, h.Subject)
			if strings.Contains(ds[i].Detail, "of several lines") {
				ds[i].Summary, ds[i].Detail = "An attribute beside the brace that opens its block", spread(src, h.Subject)
			}
		case h.Summary == "Argument definition required" && strings.HasPrefix(h.Detail, "A single-line block definition can contain only a single argument"):
			ds[i].Summary = "A block in a one-line block"
			ds[i].Detail = "HCL allows one attribute, and no block, in a one-line block. " + spread(src, h.Subject)
		}
	}
	ds = oneSlipALine(openTexts(tellShells(ds, src), src), src)
	escaped := false
	for i := range ds {
		ds[i], _ = reworded(ds[i], src)
		escaped = escaped || ds[i].Summary == escapedQuote
	}
	if escaped { // it leaves a quote open
		ds = slices.DeleteFunc(ds, func(d diag.Diagnostic) bool { return d.Summary == quoteOpen })
	}
	return ds
}

const quoteOpen = "A quoted text continues past the end of its line"

var heredocOpens = lazyregexp.New(`<<-?([A-Za-z_][A-Za-z0-9_]*)[ \t\r]*\n`)

// openTexts reports a text without an end where it begins, and once: HCL names
// the end of the file, and every line on the way there.
func openTexts(ds diag.List, src []byte) diag.List {
	const lines, end = "Invalid multi-line string", "Unterminated template string"
	var out diag.List
	quoted := -1 // in out
	for _, d := range ds {
		switch {
		case d.Subject == nil || d.Summary != lines && d.Summary != end:
		case quoted >= 0:
			continue
		case d.Summary == lines:
			quoted = len(out)
			d.Summary, d.Detail = quoteOpen, "Is the closing quote missing? A text of several lines is a heredoc: <<-EOT, the lines, and EOT on a line of its own."
		default:
			for _, m := range heredocOpens.FindAllSubmatchIndex(src, -1) {
				word := string(src[m[2]:m[3]])
				if !regexp.MustCompile(`(?m)^[ \t]*` + word + `[ \t\r]*$`).Match(src[m[1]:]) {
					at := position(d.Subject.Filename, src, m[0])
					d.Subject, d.Summary, d.Detail = &at, "A heredoc has no end", "Write "+word+" on a line of its own where the text ends."
					break
				}
			}
		}
		out = append(out, d)
	}
	return out
}

// twoAttributes is HCL's summary of an error that mostly comes from two
// attributes in a one-line block.
const twoAttributes = "Invalid single-argument block definition"

// mostOneLiners bounds how often a file is parsed again.
const mostOneLiners = 20

// moreOneLiners finds further one-line blocks with two attributes: the parser
// tells the first only, and may lose the rest. Each is blanked out, and the
// file parsed again. repaired is the file without them, when nothing else is
// wrong with it.
func moreOneLiners(name string, src []byte, hds hcl.Diagnostics) (ds diag.List, repaired *hcl.File) {
	text := bytes.Clone(src)
	for range mostOneLiners {
		blanked := false
		for _, h := range hds {
			blanked = isOneLiner(h) && blankLine(text, h.Subject) || blanked
		}
		if !blanked {
			break
		}
		repaired, hds = hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		for _, h := range hds {
			if isOneLiner(h) {
				ds.Append(syntaxHints(hcl.Diagnostics{h}, src)...)
			}
		}
	}
	if hds.HasErrors() || repaired == nil {
		return ds, nil
	}
	repaired.Bytes = src
	return ds, repaired
}

func isOneLiner(h *hcl.Diagnostic) bool {
	return h.Summary == twoAttributes || strings.HasPrefix(h.Detail, "A single-line block definition can contain only a single argument")
}

// blankLine empties the braces of the line at fault.
func blankLine(text []byte, at *hcl.Range) bool {
	if at == nil || at.Start.Byte > len(text) {
		return false
	}
	from := bytes.LastIndexByte(text[:at.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(text[from:], []byte("\n"))
	open, end := bytes.IndexByte(line, '{'), bytes.LastIndexByte(line, '}')
	if open < 0 || end < open+2 || len(bytes.TrimSpace(line[open+1:end])) == 0 {
		return false
	}
	for i := open + 1; i < end; i++ {
		line[i] = ' '
	}
	return true
}

// spread writes the line at fault as it should be, when it is simple enough.
func spread(src []byte, at *hcl.Range) string {
	const plain = "Give each attribute and each inner block a line of its own."
	if at == nil || at.Start.Byte > len(src) {
		return plain
	}
	from := strings.LastIndexByte(string(src[:at.Start.Byte]), '\n') + 1
	line, _, _ := strings.Cut(string(src[from:]), "\n")
	head, rest, ok := strings.Cut(line, "{")
	end := closing(rest)
	if !ok || len(line) > 200 {
		return plain
	}
	if end < 0 {
		return "A block of several lines begins its attributes on a line of their own:\n\n    " + strings.TrimSpace(head) + " {\n      " + strings.TrimSpace(rest) + "\n      …\n    }"
	}
	var b strings.Builder
	b.WriteString("Give each a line of its own:\n\n    " + strings.TrimSpace(head) + " {\n")
	for _, part := range oneLineParts(rest[:end]) {
		b.WriteString("      " + part + "\n")
	}
	b.WriteString("    }")
	return b.String()
}

// closing is the index of the closing brace of a block, in the text after its
// opening one; -1 when it
// does so on a later line.
func closing(s string) int {
	depth, quoted := 1, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// oneLineParts splits "a = 1, b = 2" or "a = 1 b { … }" into its items: at
// commas, and before a word that an equals sign or a brace follows, outside
// of brackets and strings.
func oneLineParts(s string) []string {
	var parts []string
	depth, quoted, start := 0, false, 0
	cut := func(at int) {
		if p := strings.Trim(s[start:at], " \t,;"); p != "" {
			parts = append(parts, p)
		}
		start = at
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("{[(", c) >= 0:
			depth++
		case strings.IndexByte("}])", c) >= 0:
			depth--
		case depth == 0 && (c == ',' || c == ';'):
			cut(i)
		case depth == 0 && (c == ' ' || c == '\t') && beginsItem(s[i:]) && strings.ContainsAny(s[start:i], "=}"):
			if t := strings.TrimRight(s[start:i], " \t"); !strings.HasSuffix(t, "=") && !strings.HasSuffix(t, ",") {
				cut(i)
			}
		}
	}
	cut(len(s))
	return parts
}

func beginsItem(s string) bool {
	s = strings.TrimLeft(s, " \t")
	n := 0
	for n < len(s) && (s[n] == '_' || wording.IsAlnum(s[n])) {
		n++
	}
	after := strings.TrimLeft(s[n:], " \t")
	return n > 0 && (strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") || strings.HasPrefix(after, "{"))
}

// losesNames reports whether syntax errors may hide names that other blocks
// refer to. Two attributes in a one-line block hide none, but among locals.
func losesNames(hds hcl.Diagnostics, file *hcl.File) bool {
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return true
	}
	for _, h := range hds {
		if h.Severity != hcl.DiagError {
			continue
		}
		if h.Summary != twoAttributes || h.Subject == nil {
			return true
		}
		for _, b := range body.Blocks {
			if b.Type == "locals" && b.Range().ContainsPos(h.Subject.Start) {
				return true
			}
		}
	}
	return false
}
