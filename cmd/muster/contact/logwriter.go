package contact

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/state"
)

// attemptOf is the attempt of a number, counted from 1; 0 is the last, -1 the one
// before it.
func attemptOf(j *state.Job, n int) (*state.Attempt, error) {
	if n <= 0 {
		if back := len(j.Attempts) - 1 + n; back >= 0 {
			return &j.Attempts[back], nil
		}
		return nil, fmt.Errorf("%s has no attempt %d before its last; it has %d in all", j.Address, -n, len(j.Attempts))
	}
	for i := range slices.Backward(j.Attempts) { // after a resume attempts count from 1 again: the newest of that number
		if j.Attempts[i].N == n {
			return &j.Attempts[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no attempt %d; it has %d", j.Address, n, len(j.Attempts))
}

// A LogLine is one line of `muster logs -json`.
type LogLine struct {
	FormatVersion string `json:"format_version"`
	Address       string `json:"address"`
	Attempt       int    `json:"attempt"`
	Stream        string `json:"stream"` // "stdout", "stderr"
	Text          string `json:"text"`
}

// A LogFormat says how lines are shown.
type LogFormat struct {
	JSON   bool // each as an object
	Stderr bool // they are of standard error
	Named  bool // with the job before each: there are several
	Style  term.Style
}

// writer shows the log of an attempt on w, which mu guards.
func (f LogFormat) writer(j *state.Job, at *state.Attempt, w io.Writer, mu *sync.Mutex) *logWriter {
	return &logWriter{w: w, mu: mu, line: f.line(j, at)}
}

// line writes a line of a job's log: cleaned of control characters, with
// its address when there are several; or as an object.
func (f LogFormat) line(j *state.Job, at *state.Attempt) func(w io.Writer, text string) error {
	if f.JSON {
		l := LogLine{FormatVersion: page.FormatVersion, Address: j.Key(), Attempt: at.N, Stream: "stdout"}
		if f.Stderr {
			l.Stream = "stderr"
		}
		return func(w io.Writer, text string) error {
			l.Text = strings.ToValidUTF8(text, "\ufffd")
			return page.Encoder(w).Encode(l)
		}
	}
	prefix := ""
	if f.Named {
		prefix = f.Style.Paint(term.Cyan, term.CleanLine(j.Address)) + " | "
	}
	return func(w io.Writer, text string) error {
		_, err := fmt.Fprintf(w, "%s%s\n", prefix, term.Clean(text))
		return err
	}
}

// logWriter passes on whole lines of one log, all that have come at once, so
// that logs that are followed together do not mix within a line.
type logWriter struct {
	w    io.Writer
	mu   *sync.Mutex // of w
	line func(w io.Writer, text string) error
	rest []byte // the beginning of a line
	out  bytes.Buffer

	printed bool
}

// longestLine is where a line without an end is broken, in bytes, so that it
// takes no more memory than that.
const longestLine = 1 << 20

func (p *logWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if p.rest = append(p.rest, rest...); len(p.rest) >= longestLine {
				p.end(nil)
			}
			break
		}
		p.end(rest[:i])
		rest = rest[i+1:]
	}
	return len(b), p.pass()
}

// end completes a line.
func (p *logWriter) end(b []byte) {
	p.rest = append(p.rest, b...)
	p.line(&p.out, string(bytes.TrimSuffix(p.rest, []byte("\r")))) // a buffer takes everything
	p.rest = p.rest[:0]
}

func (p *logWriter) pass() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.out.WriteTo(p.w)
	p.printed = p.printed || n > 0
	return err
}

func (p *logWriter) flush() {
	if len(p.rest) > 0 {
		p.end(nil)
	}
	p.pass()
}
