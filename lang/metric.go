package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Metric is a value read from a verified output.
type Metric struct {
	Name   string
	Output string
	JSON   string // a JSON pointer, RFC 6901
	Column string // of a CSV's last row
	Regex  string // first group of the last match
	// Required: a job that leaves no such value has failed. By default that is
	// so where something reads it.
	Required bool
	Stated   bool // the block says whether it is required
}

// readMetric reads a metric block of a job with these outputs.
func readMetric(r *decode.Reader, outputs []*Output, b *syntax.Block) Metric {
	m := Metric{Name: b.Name(), JSON: r.Text(b, "json"), Column: r.Text(b, "column"), Regex: r.Text(b, "regex")}
	m.Output = outputName(r, outputs, b)
	m.Required, m.Stated = r.Bool(b, "required"), b.Expr("required") != nil
	n := 0
	for _, name := range []string{"json", "column", "regex"} {
		if b.Expr(name) != nil {
			n++
		}
	}
	if n != 1 && !r.Broken {
		r.Sure.Errorat(b.Range, "A metric is read in one way", "Write exactly one of json, column and regex in metric %q.", m.Name)
	}
	if e := b.Expr("json"); e != nil && m.JSON != "" && m.JSON[0] != '/' {
		r.Wrong(e, "json", "%q is not a JSON pointer (RFC 6901): it begins with a slash, such as \"/final/loss\".", wording.Clip(m.JSON))
	}
	r.Pattern(b, "regex", m.Regex, true)
	return m
}

// outputName reads output = "log", also as output.log.
func outputName(r *decode.Reader, outputs []*Output, b *syntax.Block) string {
	e := b.Expr("output")
	if e == nil {
		return ""
	}
	name := ""
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() && t.RootName() == "output" && len(value.Names(t)) == 2 {
		name = value.Names(t)[1]
	} else if name = r.Text(b, "output"); name == "" {
		return ""
	}
	var known []string
	for _, o := range outputs {
		known = append(known, o.Name)
	}
	if !slices.Contains(known, name) {
		r.Wrong(e, "output", "The job has no output %q%s", wording.Clip(name), wording.DidYouMean(name, known))
	}
	return name
}
