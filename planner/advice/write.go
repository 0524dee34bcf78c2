package advice

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Rewrite makes the edits of proposals in files, by name. It returns the files that
// change, and the proposals that a person must make: those without a line, those whose
// value depends on the cell, and those for a line that an earlier one changed.
func Rewrite(files map[string]*hcl.File, proposals []Proposal) (out map[string][]byte, left []Proposal) {
	type change struct {
		lines int      // that are replaced; 0 adds below
		with  []string // without their line ends
	}
	changes := map[string]map[int]change{} // by file and line
	for _, p := range proposals {
		e := p.Edit
		f := files[e.File]
		if f == nil || e.Line == 0 || e.After == "" || e.Before != "" && strings.TrimSpace(lineOf(f.Bytes, e.Line)) != e.Before {
			left = append(left, p)
			continue
		}
		if changes[e.File] == nil {
			changes[e.File] = map[int]change{}
		}
		if _, taken := changes[e.File][e.Line]; taken {
			left = append(left, p)
			continue
		}
		at := lineOf(f.Bytes, e.Line)
		indent := at[:len(at)-len(strings.TrimLeft(at, " \t"))]
		c := change{lines: 1}
		if e.Before == "" {
			c.lines, indent = 0, indent+"  "
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(e.After, "\n"), "\n") {
			c.with = append(c.with, indent+line)
		}
		changes[e.File][e.Line] = c
	}
	out = map[string][]byte{}
	for name, at := range changes {
		src := string(files[name].Bytes)
		end := "\n"
		if strings.Contains(src, "\r\n") {
			end = "\r\n"
		}
		var b strings.Builder
		n := 0
		for line := range strings.Lines(src) {
			n++
			c, ok := at[n]
			if !ok || c.lines == 0 {
				b.WriteString(line)
			}
			if ok && c.lines == 0 && !strings.HasSuffix(line, "\n") {
				b.WriteString(end)
			}
			for _, with := range c.with {
				b.WriteString(with + end)
			}
		}
		out[name] = []byte(b.String())
	}
	return out, left
}

// lineOf is a line of a text, counted from 1, without its end; "" where there is none.
func lineOf(src []byte, n int) string {
	for line := range strings.Lines(string(src)) {
		if n--; n == 0 {
			return strings.TrimRight(line, "\r\n")
		}
	}
	return ""
}
