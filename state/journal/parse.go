package journal

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"unsafe"

	"github.com/muster-run/muster/state/store"
)

// A Journal is the content of a file: its header, and every whole line.
type Journal struct {
	Path   string
	Header Header
	Lines  []Line
	Size   int64 // bytes of header and whole lines
	Torn   int64 // bytes after them: a line whose write was cut off
}

// Last is the number of the last event in it, or that of the last it comes
// after.
func (j *Journal) Last() uint64 { return j.Header.After.Seq + uint64(len(j.Lines)) }

const noHeader = "it has no header"

// Parse takes a journal's bytes apart, which must not change afterwards. A
// last line without a newline was never acknowledged and is left out; anything
// else that is not as it was written is a *store.CorruptError, and a journal
// of a later format is a *store.NewerError.
func Parse(path string, data []byte) (*Journal, error) {
	j := &Journal{Path: path}
	text := unsafe.String(unsafe.SliceData(data), len(data)) // shared: data does not change
	head, rest, ok := strings.Cut(text, "\n")
	if !ok {
		return nil, j.damage(0, noHeader)
	}
	if err := j.parseHeader(head); err != nil {
		return nil, err
	}
	j.Size = int64(len(head) + 1)
	j.Lines = make([]Line, 0, strings.Count(rest, "\n"))
	for rest != "" {
		line, after, ok := strings.Cut(rest, "\n")
		if !ok {
			j.Torn = int64(len(rest))
			break
		}
		if err := j.parse(line); err != nil {
			return nil, err
		}
		j.Size += int64(len(line) + 1)
		rest = after
	}
	return j, nil
}

func (j *Journal) parseHeader(head string) error {
	rest, why := unseal(head)
	if why != "" {
		return j.damage(0, why)
	}
	if err := json.Unmarshal([]byte("{"+rest), &j.Header); err != nil || j.Header.Format == 0 {
		return j.damage(0, "its first line is not a header")
	}
	if j.Header.Format > format {
		return &store.NewerError{Path: j.Path, Format: j.Header.Format, Known: format, Muster: j.Header.Muster}
	}
	return nil
}

func (j *Journal) parse(text string) error {
	l, err := j.line(text, j.Last()+1)
	if err == nil {
		j.Lines = append(j.Lines, l)
	}
	return err
}

// line reads the line of an event, which begins where the lines before it end.
func (j *Journal) line(text string, seq uint64) (Line, error) {
	l, why := ParseLine(text)
	switch {
	case why != "":
		return l, j.damage(j.Size, why)
	case l.Fence != j.Header.Fence:
		return l, j.damage(j.Size, fmt.Sprintf("holder %d wrote the line, and the journal belongs to holder %d", l.Fence, j.Header.Fence))
	case l.Seq != seq:
		return l, j.damage(j.Size, fmt.Sprintf("event %d is in the place of event %d", l.Seq, seq))
	}
	return l, nil
}

func (j *Journal) damage(at int64, why string) error {
	return &store.CorruptError{Path: j.Path, Offset: at, Why: why, Way: store.WayJournal(j.Path, at)}
}

func sum(s string) uint32 {
	return crc32.Checksum(unsafe.Slice(unsafe.StringData(s), len(s)), castagnoli)
}

// ParseLine checks and takes apart one line, without its newline. Why is its error.
func ParseLine(text string) (l Line, why string) {
	rest, why := unseal(text)
	if why != "" {
		return l, why
	}
	l, ok := parseLine(text, rest)
	if !ok {
		return l, "this is not a line of a journal"
	}
	return l, ""
}
