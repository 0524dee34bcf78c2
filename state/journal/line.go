// Package journal keeps events in a file, one a line. Parse returns every event
// that Sync acknowledged: a line carries its number and a checksum of its exact
// bytes, and a changed or missing line is an error that names the place.
package journal

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
)

// format is the version of the journal this muster writes.
const format = 1

// castagnoli is CRC-32C, RFC 3720 section B.4: it finds every error of up to 32
// bits in a row, and in hardware costs less than reading the bytes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A line is {"crc":"xxxxxxxx",REST}, the checksum being over REST and its
// closing brace.
const (
	crcHead = `{"crc":"`
	crcTail = `",`
	crcLen  = len(crcHead) + 8 + len(crcTail) // bytes before REST
)

// A Line is an event in a journal.
type Line struct {
	Fence uint64
	Seq   uint64
	At    time.Time
	Kind  string
	Event string // its JSON
	Text  string // the whole line, without its newline
}

// Decode reads the line's event.
func (l Line) Decode(d *codec.Decoder) (state.Event, error) { return d.Event(l.Kind, l.Event) }

// appendSealed appends REST, which fill writes, with its checksum in front and
// a newline behind.
func appendSealed(b []byte, fill func([]byte) ([]byte, error)) ([]byte, error) {
	start := len(b)
	b = append(b, crcHead+"00000000"+crcTail...)
	b, err := fill(b)
	if err != nil {
		return b[:start], err
	}
	copy(b[start+len(crcHead):], fmt.Sprintf("%08x", crc32.Checksum(b[start+crcLen:], castagnoli)))
	return append(b, '\n'), nil
}

// unseal checks a line's checksum and gives REST.
func unseal(text string) (rest string, why string) {
	if len(text) < crcLen+2 || !strings.HasPrefix(text, crcHead) || text[crcLen-len(crcTail):crcLen] != crcTail {
		return "", "this is not a line of a journal"
	}
	rest = text[crcLen:]
	want := text[len(crcHead) : len(crcHead)+8]
	if got := fmt.Sprintf("%08x", sum(rest)); got != want {
		return "", fmt.Sprintf("the checksum is %s, the line says %s", got, want)
	}
	return rest, ""
}

func appendLine(b []byte, fence, seq uint64, at time.Time, e state.Event) ([]byte, error) {
	return appendSealed(b, func(b []byte) ([]byte, error) {
		b = strconv.AppendUint(append(b, `"fence":`...), fence, 10)
		b = strconv.AppendUint(append(b, `,"seq":`...), seq, 10)
		b = at.UTC().AppendFormat(append(b, `,"at":"`...), time.RFC3339Nano)
		b = append(append(b, `","kind":"`...), e.Kind()...)
		b, err := codec.AppendEvent(append(b, `","event":`...), e)
		if err != nil {
			return b, fmt.Errorf("encode %s: %w", e.Kind(), err)
		}
		return append(b, '}'), nil
	})
}

// parseLine takes a line apart. Its checksum holds, so it has the layout that
// appendLine gave it, or it is another program's.
func parseLine(text, rest string) (l Line, ok bool) {
	l.Text = text
	var fence, seq, at string
	if fence, rest, ok = between(rest, `"fence":`, `,"seq":`); !ok {
		return l, false
	}
	if seq, rest, ok = strings.Cut(rest, `,"at":"`); !ok {
		return l, false
	}
	if at, rest, ok = strings.Cut(rest, `","kind":"`); !ok {
		return l, false
	}
	if l.Kind, rest, ok = strings.Cut(rest, `","event":`); !ok {
		return l, false
	}
	if l.Event, ok = strings.CutSuffix(rest, "}"); !ok {
		return l, false
	}
	var errs [3]error
	l.Fence, errs[0] = strconv.ParseUint(fence, 10, 64)
	l.Seq, errs[1] = strconv.ParseUint(seq, 10, 64)
	l.At, errs[2] = time.Parse(time.RFC3339Nano, at)
	return l, errs == [3]error{}
}

func between(s, before, after string) (in, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, before); !ok {
		return "", "", false
	}
	return strings.Cut(s, after)
}
