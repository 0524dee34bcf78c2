package syntax

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/wording"
)

// MaxBytes bounds one file, far beyond honest use: the parser takes some
// hundred bytes of memory for each byte.
const MaxBytes = 2 << 20

var byteOrderMark = []byte("\xef\xbb\xbf")

// Scan looks at a file before the parser does, and refuses text that the parser could not read in
// bounded time and memory. It returns the text without a byte order mark.
func Scan(name string, src []byte) ([]byte, diag.List) {
	var ds diag.List
	src = bytes.TrimPrefix(src, byteOrderMark)
	start := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	switch {
	case len(src) > MaxBytes:
		ds.Errorat(start, "The file is too large", "%s is larger than %s, the limit for a campaign file. Keep bulky data in files of their own and read them with file(), csvdecode() or jsondecode().", name, units.FormatSize(MaxBytes))
	case bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")):
		ds.Errorat(start, "The file is not UTF-8", "%s looks like UTF-16. Save it as UTF-8.", name)
	case !utf8.Valid(src):
		at := invalidAt(src)
		ds.Errorat(position(name, src, at), "The file is not UTF-8", "The byte %#02x is not valid UTF-8. Save the file as UTF-8.", src[at])
	case bytes.IndexByte(src, 0) >= 0:
		ds.Errorat(position(name, src, bytes.IndexByte(src, 0)), "The file holds a NUL byte", "A campaign file is text. Remove the byte.")
	case !bytes.Contains(src, []byte("\n")) && bytes.IndexByte(src, '\r') >= 0:
		ds.Errorat(start, "The lines end in carriage returns alone", "Save %s with line feeds: LF, or CR LF.", name)
	default:
		if err := CheckText(src); err != nil {
			at, text := atLine(name, src, err)
			if strings.Contains(text, "digits") {
				ds.Errorat(at, "A number is too long to be read", "%s. Keep such data in a file and read it with file().", wording.Capitalised(text))
				break
			}
			ds.Errorat(at, "The file is nested too deeply to be read", "%s. Give the parts names in locals.", wording.Capitalised(text))
		}
	}
	return src, ds
}

// position is the range of one byte.
func position(name string, src []byte, at int) hcl.Range {
	line := 1 + bytes.Count(src[:at], []byte("\n"))
	column := 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:at], '\n')+1:at])
	p := hcl.Pos{Line: line, Column: column, Byte: at}
	end := p
	end.Byte, end.Column = at+1, column+1
	return hcl.Range{Filename: name, Start: p, End: end}
}

// atLine takes the line number off the front of a message, for the range.
func atLine(name string, src []byte, err error) (hcl.Range, string) {
	var n int
	text := err.Error()
	if _, scanErr := fmt.Sscanf(text, "line %d:", &n); scanErr != nil {
		return hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}, text
	}
	at := 0
	for ; n > 1; n-- {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	_, text, _ = strings.Cut(text, ": ")
	return position(name, src, min(at, len(src)-1)), text
}
