package aris

import (
	"math"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
)

// The types that PyYAML, which follows YAML 1.1, gives plain words; its
// resolver.py has the patterns.
var (
	yesWord     = lazyregexp.New(`^(?:yes|Yes|YES|on|On|ON)$`)
	noWord      = lazyregexp.New(`^(?:no|No|NO|off|Off|OFF)$`)
	trueWord    = lazyregexp.New(`^(?:true|True|TRUE)$`)
	falseWord   = lazyregexp.New(`^(?:false|False|FALSE)$`)
	decimalWord = lazyregexp.New(`^[-+]?(?:0|[1-9][0-9]*)$`)
	oddInteger  = lazyregexp.New(`^[-+]?(?:0b[01_]+|0[0-7_]+|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	sexagesimal = lazyregexp.New(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)
	floatWord   = lazyregexp.New(`^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$`)
	jsonNumber  = lazyregexp.New(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)
)

// A value is the text that a scalar puts into a command or a path.
type value struct {
	text   string
	number bool // a number, that HCL can hold without changing its text
	truth  bool // true or false
}

// value is the text of a scalar as the queue would have spliced it: Python's
// str() of the value that PyYAML read. Where YAML 1.1 reads a word as
// something that nobody means, the word stays and that is reported.
func (r *reader) value(n *node) value {
	if n.kind != scalar {
		r.ds.Errorat(n.at, "A single value is needed", "This is %s. Write one text or number.", n.kind)
		return value{}
	}
	if !n.plain {
		return value{text: n.text}
	}
	switch {
	case n.null():
		r.note("line %d: an empty value is None in the queue's commands, and here", n.at.Start.Line)
		return value{text: "None"}
	case trueWord.MatchString(n.text):
		return value{text: "True", truth: true}
	case falseWord.MatchString(n.text):
		return value{text: "False", truth: true}
	case decimalWord.MatchString(n.text):
		return number(strings.TrimPrefix(n.text, "+"))
	}
	if n.json {
		if jsonNumber.MatchString(n.text) {
			return r.float(n, n.text)
		}
		return value{text: n.text}
	}
	switch {
	case yesWord.MatchString(n.text):
		r.trap(n, "True")
	case noWord.MatchString(n.text):
		r.trap(n, "False")
	case oddInteger.MatchString(n.text):
		if i, err := strconv.ParseInt(octal(strings.ReplaceAll(n.text, "_", "")), 0, 64); err == nil {
			r.trap(n, strconv.FormatInt(i, 10))
		}
	case sexagesimal.MatchString(n.text):
		r.trap(n, "a number to base 60")
	case floatWord.MatchString(n.text):
		return r.float(n, strings.ReplaceAll(n.text, "_", ""))
	}
	return value{text: n.text}
}

// octal writes YAML 1.1's 010 as Go does.
func octal(s string) string {
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '7' {
		return s[:len(s)-len(digits)] + "0o" + digits[1:]
	}
	return s
}

func (r *reader) trap(n *node, python string) {
	r.warn(n.at, "YAML 1.1 reads this otherwise", "%s stays %s, as written. The queue's own reader made %s of it; write %q in quotes to have that.", n.text, n.text, python, python)
}

// float is a number with a point: the queue spliced Python's text of it.
func (r *reader) float(n *node, text string) value {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return value{text: n.text}
	}
	py := pythonFloat(f)
	if py != n.text {
		r.note("line %d: %s is %s in the queue's commands, and here", n.at.Start.Line, clip(n.text), py)
	}
	return number(py)
}

// pythonFloat is repr() of a float: shortest digits, an exponent below 1e-4
// and from 1e16 on, and a point in whole numbers.
func pythonFloat(f float64) string {
	if a := math.Abs(f); f != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// number is a number if HCL prints it with the same text, else that text.
func number(text string) value {
	f, err := strconv.ParseFloat(text, 64)
	return value{text: text, number: err == nil && units.Number(f) == text}
}

// hcl is the value as an expression.
func (v value) hcl() string {
	if v.number {
		return v.text
	}
	return quote(v.text)
}

// integer is a whole number of the manifest.
func (r *reader) integer(n *node, what string, least int) (int, bool) {
	if n == nil {
		return 0, false
	}
	text := n.text
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<31 && n.kind == scalar {
		if int(f) >= least {
			return int(f), true
		}
	}
	if n.kind != scalar {
		text = n.kind.String()
	}
	r.ds.Errorat(n.at, "Invalid "+what, "A whole number of at least %d is needed, %q was found.", least, clip(text))
	return 0, false
}
