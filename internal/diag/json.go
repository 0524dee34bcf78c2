package diag

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// JSON is the machine form of a diagnostic, field for field the one that
// editors already parse from `terraform validate -json`.
type JSON struct {
	Severity string       `json:"severity"`
	Summary  string       `json:"summary"`
	Detail   string       `json:"detail"`
	Address  string       `json:"address,omitempty"`
	Range    *JSONRange   `json:"range,omitempty"`
	Snippet  *JSONSnippet `json:"snippet,omitempty"`
}

// JSONRange is a range of source.
type JSONRange struct {
	Filename string  `json:"filename"`
	Start    JSONPos `json:"start"`
	End      JSONPos `json:"end"`
}

// JSONPos is a position: line and column count from 1, byte from 0.
type JSONPos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// JSONSnippet is the source at fault.
type JSONSnippet struct {
	Context              *string     `json:"context"`
	Code                 string      `json:"code"`
	StartLine            int         `json:"start_line"`
	HighlightStartOffset int         `json:"highlight_start_offset"`
	HighlightEndOffset   int         `json:"highlight_end_offset"`
	Values               []jsonValue `json:"values"`
}

// jsonValue is a symbol used by the expression at fault.
type jsonValue struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// ToJSON converts a list; sources may be nil.
func ToJSON(l List, sources Sources) []JSON {
	out := make([]JSON, 0, len(l))
	for _, d := range l {
		j := JSON{Severity: d.Severity.String(), Summary: d.Summary, Detail: d.Detail, Address: d.Address}
		if d.Subject != nil {
			j.Range = &JSONRange{d.Subject.Filename, jsonPos(d.Subject.Start), jsonPos(d.Subject.End)}
			j.Snippet = snippet(d, sources)
		}
		out = append(out, j)
	}
	return out
}

func jsonPos(p hcl.Pos) JSONPos { return JSONPos{p.Line, p.Column, p.Byte} }

func snippet(d Diagnostic, sources Sources) *JSONSnippet {
	if sources == nil {
		return nil
	}
	src, r := sources(d.Subject.Filename), d.Subject
	if r.Start.Byte < 0 || r.End.Byte > len(src) || r.Start.Byte > r.End.Byte {
		return nil
	}
	from := bytes.LastIndexByte(src[:r.Start.Byte], '\n') + 1
	to := len(src)
	if i := bytes.IndexByte(src[r.End.Byte:], '\n'); i >= 0 {
		to = r.End.Byte + i
	}
	code := src[from:min(to, from+4096)]
	s := &JSONSnippet{
		Code: strings.ToValidUTF8(string(code), "�"), StartLine: r.Start.Line, Values: []jsonValue{},
		HighlightStartOffset: min(r.Start.Byte-from, len(code)), HighlightEndOffset: min(r.End.Byte-from, len(code)),
	}
	if d.In != "" {
		s.Context = &d.In
	}
	for _, v := range d.Values {
		s.Values = append(s.Values, jsonValue(v))
	}
	return s
}
