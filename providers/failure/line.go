package failure

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// maxLine bounds a line that is shown, in characters.
const maxLine = 300

// lineBounds are where the line around i begins and ends. Progress bars
// separate theirs by carriage returns.
func lineBounds(b []byte, i int) (start, end int) {
	start = bytes.LastIndexAny(b[:i], "\n\r") + 1
	if n := bytes.IndexAny(b[i:], "\n\r"); n >= 0 {
		return start, i + n
	}
	return start, len(b)
}

func lineAt(b []byte, i int) []byte {
	start, end := lineBounds(b, i)
	return b[start:end]
}

func lastBytes(b []byte, n int) []byte {
	if len(b) > n {
		return b[len(b)-n:]
	}
	return b
}

func lastLines(b []byte, n int) []byte {
	end := len(bytes.TrimRight(b, "\n\r"))
	for range n {
		i := bytes.LastIndexAny(b[:end], "\n\r")
		if i < 0 {
			return b
		}
		end = i
	}
	return b[end+1:]
}

// lower maps ASCII only, so that positions stay those of the original.
func lower(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// escapes are the terminal's: CSI, OSC and two-character sequences.
var escapes = lazyregexp.New(`\x1b(\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])`)

// ofWrapper is how a shell begins a message about a job's command or setup: with the
// wrapper's script, the copy of the text in the job's folder, or both. ofExec is how it
// does about a command given as a list.
var (
	ofExec    = lazyregexp.New(`^/.*/wrapper-[0-9a-f]{8}\.sh: (?:line )?\d+: exec: `)
	ofWrapper = lazyregexp.New(`^(?:/.*/wrapper-[0-9a-f]{8}\.sh: (?:line )?(\d+): (?:/.*/[0-9a-f]{32}\.\d+/(cmd|before|image): )?|/.*/[0-9a-f]{32}\.\d+/(cmd|before|image): (?:line )?(\d+): )`)
)

// InTheUsersWords is a line of a job's log with the line of the job's command, or its
// setup, in place of files that the wrapper runs them from.
func InTheUsersWords(line string) string {
	if at := ofExec.FindString(line); at != "" {
		return line[len(at):]
	}
	m := ofWrapper.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	rest := line[len(m[0]):]
	switch m[2] + m[3] {
	case "cmd":
		return "line " + m[1] + m[4] + ": " + rest
	case "before":
		return "setup: " + rest
	}
	return rest // the number may be of either text, or of the wrapper
}

// cleanLine makes foreign text fit for a screen: valid UTF-8 without control
// characters or files of the wrapper, at most maxLine characters.
func cleanLine(b []byte) string {
	b = b[:min(len(b), 8*maxLine)]
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = escapes.ReplaceAll(b, nil)
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1 // control characters, and those that reverse text
		}
		return r
	}, s)
	s = InTheUsersWords(strings.TrimSpace(s))
	if utf8.RuneCountInString(s) > maxLine {
		s = string([]rune(s)[:maxLine-1]) + "…"
	}
	return s
}

var errorWord = lazyregexp.New(`(?i)\b(\w*error|\w*exception|fatal|failed|failure|abort\w*|panic|killed|cannot|denied|invalid|assertion|segmentation fault)\b`)

// errorLine is the last line that speaks of an error, else the last line.
func errorLine(tail []byte) string {
	last := ""
	for range 60 {
		tail = bytes.TrimRight(tail, "\n\r \t")
		if len(tail) == 0 {
			break
		}
		start, end := lineBounds(tail, len(tail))
		line := cleanLine(tail[start:end])
		if last == "" {
			last = line
		}
		if errorWord.MatchString(line) {
			return line
		}
		tail = tail[:start]
	}
	return last
}

// Telling is the line that says most about a failure, of the last lines of its log: the last
// that speaks of an error. Of a command that exited 0 it is the last line, where muster adds
// the failed check of its outputs.
func Telling(tail []string, exit *int) string {
	if exit == nil || *exit != 0 {
		return errorLine([]byte(strings.Join(tail, "\n")))
	}
	for _, line := range slices.Backward(tail) {
		if line = cleanLine([]byte(line)); line != "" {
			return line
		}
	}
	return ""
}

var (
	pathWord   = lazyregexp.New(`[^\s"'()\[\]<>,;:=]*/[^\s"'()\[\]<>,;:]*`)
	hexWord    = lazyregexp.New(`(?i)\b0x[0-9a-f]+\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{12,}\b`)
	numberWord = lazyregexp.New(`\d+([.,:]\d+)*([eE][+-]?\d+)?( ?[KMGT]i?B\b)?`)
)

// maxSignature bounds a signature's text, in bytes.
const maxSignature = 160

// Signature removes from a line the parts that differ between jobs that fail alike: paths,
// numbers, digests. It is at most 160 bytes.
func Signature(line string) string {
	s := pathWord.ReplaceAllString(line, "PATH")
	s = hexWord.ReplaceAllString(s, "#")
	s = numberWord.ReplaceAllString(s, "#")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxSignature {
		s = strings.ToValidUTF8(s[:maxSignature], "")
	}
	return s
}
