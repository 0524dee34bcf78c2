package aris

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// A text is literal pieces and references to values that differ from job to
// job.
type text []piece

// A piece is a literal, or with ref set the value of an axis, an attribute of
// the job axis, an input or an output: an HCL expression.
type piece struct {
	lit, ref string
	quoted   bool // through shellquote()
}

func literal(s string) text {
	if s == "" {
		return nil
	}
	return text{{lit: s}}
}

// placeholder is ${N}, or {N} for a name alone.
var placeholder = lazyregexp.New(`\$?\{[A-Za-z_][A-Za-z0-9_.-]*\}`)

// parseText finds the placeholders in a text. lookup gives the expression of a name; unknown
// names stay as they are and are listed, ${x} and {x} apart.
func parseText(s string, lookup func(name string) (string, bool)) (t text, unknown []string) {
	from := 0
	for _, m := range placeholder.FindAllStringIndex(s, -1) {
		word := s[m[0]:m[1]]
		bare := word[0] == '{'
		if bare && (m[0] > 0 && s[m[0]-1] == '{' || m[1] < len(s) && s[m[1]] == '}') {
			continue // {{N}} is a brace of str.format
		}
		name := strings.Trim(word, "${}")
		ref, ok := lookup(name)
		if !ok {
			unknown = append(unknown, word)
			continue
		}
		t = append(t, literal(s[from:m[0]])...)
		t = append(t, piece{ref: ref})
		from = m[1]
	}
	return append(t, literal(s[from:])...), unknown
}

// refs lists the references of a text.
func (t text) refs() (out []string) {
	for _, p := range t {
		if p.ref != "" {
			out = append(out, p.ref)
		}
	}
	return out
}

// with is the text for one cell: references replaced by their values there.
func (t text) with(values map[string]string) string {
	var b strings.Builder
	for _, p := range t {
		if p.ref != "" {
			b.WriteString(values[p.ref])
		} else {
			b.WriteString(p.lit)
		}
	}
	return b.String()
}

// source is the text as a template that means it.
func (t text) source() string {
	var b strings.Builder
	for _, p := range t.dollars() {
		switch {
		case p.ref != "" && p.quoted:
			b.WriteString("${shellquote(" + p.ref + ")}")
		case p.ref != "":
			b.WriteString("${" + p.ref + "}")
		default:
			b.WriteString(escapes.Replace(p.lit))
		}
	}
	return b.String()
}

// dollars makes an expression of the dollars right before a reference: "$${" would be HCL's
// way to write no reference at all.
func (t text) dollars() (out text) {
	for i, p := range t {
		if plain := strings.TrimRight(p.lit, "$"); i+1 < len(t) && t[i+1].ref != "" && plain != p.lit {
			out = append(append(out, literal(plain)...), piece{ref: `"` + p.lit[len(plain):] + `"`})
			continue
		}
		out = append(out, p)
	}
	return out
}

// escapes protects the shell's own syntax: ${HOME}, and %{ of some formats.
var escapes = strings.NewReplacer("${", "$${", "%{", "%%{")

// hcl is the text as an expression: a heredoc for several lines, else a
// quoted template, or the bare reference when it is nothing else.
func (t text) hcl() string {
	if len(t) == 1 && t[0].ref != "" && !t[0].quoted {
		return t[0].ref
	}
	if s := t.source(); strings.Contains(s, "\n") && !strings.ContainsAny(s, "\r\x00") && !strings.HasSuffix(s, "\n") {
		return heredoc(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, p := range t.dollars() {
		if p.ref != "" {
			b.WriteString(text{p}.source())
			continue
		}
		q := quote(p.lit)
		b.WriteString(q[1 : len(q)-1])
	}
	b.WriteByte('"')
	return b.String()
}

// heredoc writes lines as they are. The newline before the end mark is part
// of the value; to the shell it means nothing.
func heredoc(s string) string {
	mark := "EOT"
	for strings.Contains(s, mark) {
		mark += "_"
	}
	return "<<" + mark + "\n" + s + "\n" + mark
}

// quote is a string as HCL writes it.
func quote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// join puts texts one after another.
func join(ts ...text) (out text) {
	for _, t := range ts {
		for _, p := range t {
			if n := len(out); n > 0 && out[n-1].ref == "" && p.ref == "" {
				out[n-1].lit += p.lit
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}
