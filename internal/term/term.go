// Package term prints to a terminal or a pipe: width, colour, the symbol set,
// aligned tables, and text of others without control characters.
package term

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// MaxWidth is the most columns that sentences and plans take.
const MaxWidth = 100

// Style lists the abilities of a stream.
type Style struct {
	Color bool
	UTF8  bool
	Width int  // columns of sentences, at most MaxWidth
	Row   int  // columns of a table's row: all of the terminal; 0 = as many as it takes, in a pipe
	TTY   bool // an interactive terminal: may be animated
}

// Detect finds the style of a stream. NO_COLOR, FORCE_COLOR, CI, TERM, LC_ALL,
// LC_CTYPE, LANG and COLUMNS are honoured (no-color.org, force-color.org).
func Detect(f *os.File, noColor bool) Style {
	tty := term.IsTerminal(int(f.Fd()))
	s := Style{TTY: tty && os.Getenv("CI") != "true" && os.Getenv("TERM") != "dumb", Width: MaxWidth, UTF8: utf8Locale()}
	s.Color = (s.TTY || os.Getenv("FORCE_COLOR") != "") && os.Getenv("NO_COLOR") == "" && !noColor
	if tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width, s.Row = min(w, MaxWidth), w
		}
	} else if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w >= 40 {
		s.Width, s.Row = min(w, MaxWidth), w
	}
	return s
}

// utf8Locale follows setlocale(3): the first of these that is set decides. A
// machine without any (a container, CI) is taken to show UTF-8.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// ASCII replaces muster's symbols for terminals without UTF-8.
var ascii = strings.NewReplacer(
	"±", "+/-", "→", "->", "…", "...", "↻", "retry:", "≈", "~=", "⊘", "x", "⇡", "^", "⇣", "v", "×", "x", "≤", "<=", "≠", "!=",
	"▕", "|", "▏", "|", "█", "#", "▉", "#", "▊", "#", "▋", "#", "▌", "#", "▍", "#", "▎", "#", "·", "-", "–", "-", "—", "-", "✓", "ok", "✗", "x", "─", "-", "│", "|", "└", "`", "├", "|",
)

// Text returns s as the stream can show it.
func (s Style) Text(t string) string {
	if s.UTF8 {
		return t
	}
	return ascii.Replace(t)
}

// SGR codes of the few colours muster uses; a colour never carries meaning
// alone.
const (
	Red    = "31"
	Yellow = "33"
	Cyan   = "36"
)

// Paint colours t when the stream shows colour.
func (s Style) Paint(code, t string) string {
	if !s.Color || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Clean makes foreign text harmless: a job's log must not drive the user's
// terminal. Control characters but newline and tab become their Unicode
// pictures, and directional overrides and invalid bytes U+FFFD.
func Clean(s string) string {
	if !needsCleaning(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case hostile(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func needsCleaning(s string) bool {
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || hostile(r) {
			return true
		}
	}
	return false
}

// hostile are C1 controls, invalid bytes, and bidirectional overrides
// (Unicode TR36, "Trojan Source").
func hostile(r rune) bool {
	return r == utf8.RuneError || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == unicode.MaxRune
}

// CleanLine is Clean for text that must stay on one line.
func CleanLine(s string) string {
	return strings.NewReplacer("\n", "␊", "\t", " ").Replace(Clean(s))
}

// A LineWriter writes to w, remembering the first error so that callers of
// many small writes check once.
type LineWriter struct {
	W   io.Writer
	Err error
}

func (l *LineWriter) Write(p []byte) (int, error) {
	if l.Err != nil {
		return 0, l.Err
	}
	n, err := l.W.Write(p)
	l.Err = err
	return n, err
}

// Columns is the present width of the terminal behind w, at most MaxWidth; otherwise the old
// one.
func Columns(w io.Writer, was int) int {
	f, ok := w.(*os.File)
	if !ok {
		return was
	}
	if now, _, err := term.GetSize(int(f.Fd())); err == nil && now > 0 {
		return min(now, MaxWidth)
	}
	return was
}
