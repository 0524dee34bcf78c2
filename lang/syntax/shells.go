package syntax

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// A shell's expansion in braces is no expression. The error of an unreadable ${ … } says that
// it is the shell's, and how to write it where the text shows its meaning.
const (
	shells     = "This is the shell's"
	shellsOwn  = "${ … } is an expression of muster. For the shell's own write $${ … }; for a value of muster, a name such as ${cell.N}."
	shellsText = "${ … } is an expression of muster. For the shell's own write $%s; for a value of muster, a name such as ${cell.N}."
)

// shellOpens matches an open ${ at the end of a line.
var shellOpens = lazyregexp.New(`\$\{[^}]*$`)

// shellParts are the expansions of sh(1) and bash(1) in braces that are more
// than a name: special parameters, ${!name}, ${#name}, subscripts, and a name
// with an operator. A $$ before the brace is no expression of muster.
var shellParts = lazyregexp.New(`(?:^|[^$])(\$\{(?:[!?@*$#-]\}|[!#][\w@*][^}"\n]*\}|\w+(?:\[[^\]\n]*\])?(?::?[-=?+]|:\d|[%#^,@]|//?)[^}"\n]*\}|\w+\[[@*]\]\}))`)

// tellShells explains errors that ${…} of a shell causes, with the text to write instead.
// Where it holds # or //, a comment to the parser, the error is behind it, and so may all
// later ones be: they are dropped.
func tellShells(ds diag.List, src []byte) diag.List {
	var out diag.List
	told := map[int]bool{} // by where the text begins
	hidden := len(src)     // the text behind it is a comment to the parser
	for _, d := range ds {
		if d.Subject == nil || d.Subject.Start.Byte > len(src) {
			out = append(out, d)
			continue
		}
		from, to, comment := shellPart(src, d.Subject.Start.Byte)
		switch {
		case to == 0:
			out = append(out, d)
			continue
		case !told[from]:
			told[from] = true
			at := position(d.Subject.Filename, src, from)
			at.End = position(d.Subject.Filename, src, to).Start
			d.Subject, d.Summary, d.Detail = &at, shells, fmt.Sprintf(shellsText, src[from:to])
			out = append(out, d)
		}
		if comment {
			hidden = min(hidden, from)
		}
	}
	return slices.DeleteFunc(out, func(d diag.Diagnostic) bool { return d.Subject != nil && d.Subject.Start.Byte > hidden })
}

// shellPart is the range of the shell text that causes an error: on its line, before it, or on
// the line above, where its rest is a comment to the parser.
func shellPart(src []byte, at int) (from, to int, comment bool) {
	begin := bytes.LastIndexByte(src[:at], '\n') + 1
	end := len(src)
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		end = at + i
	}
	above := bytes.LastIndexByte(bytes.TrimRight(src[:begin], "\r\n"), '\n') + 1
	for _, m := range shellParts.FindAllSubmatchIndex(src[above:end], -1) {
		f, t := above+m[2], above+m[3]
		hides := bytes.ContainsAny(src[f:t], "#") || bytes.Contains(src[f:t], []byte("//"))
		switch {
		case f > at:
		case hides:
			return f, t, true
		case f >= begin:
			from, to = f, t
		}
	}
	return from, to, false
}
