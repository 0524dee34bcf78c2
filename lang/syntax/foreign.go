package syntax

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// The first line of other texts that people paste into a campaign file,
// comments apart.
var (
	jsonBegins = lazyregexp.New(`^\s*[{\[]`)
	yamlBegins = lazyregexp.New(`^(---|- \S|[A-Za-z_][\w-]*:(\s|$))`)
)

// foreign reports a file that begins as JSON or YAML: one error for all of its
// lines.
func foreign(name string, text []byte) (d diag.Diagnostic, ok bool) {
	at := 0
	for n, line := range bytes.Split(text, []byte("\n")) {
		if t := bytes.TrimSpace(line); len(t) == 0 || t[0] == '#' {
			at += len(line) + 1 // the newline
			continue
		}
		what := ""
		switch {
		case jsonBegins.Match(line):
			what = "JSON"
		case yamlBegins.Match(line):
			what = "YAML"
		default:
			return d, false
		}
		return diag.Diagnostic{
			Summary: "The file is " + what + ", not HCL",
			Detail:  `A campaign is written as phase "NAME" { … } with a job { command = "…" } in it. An ARIS manifest or grid spec becomes one by: muster convert FILE.`,
			Subject: &hcl.Range{Filename: name, Start: hcl.Pos{Line: n + 1, Column: 1, Byte: at}, End: hcl.Pos{Line: n + 1, Column: 1 + utf8.RuneCount(line), Byte: at + len(line)}},
		}, true
	}
	return d, false
}
