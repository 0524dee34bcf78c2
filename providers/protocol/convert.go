package protocol

import (
	"strings"
	"time"
)

// The wire and Go differ in little: an empty list or map is none on the
// wire, times lose their zone, and text that came from outside (a log's
// tail, a scheduler's reason) is made valid UTF-8, which protobuf insists on.

func each[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(in []string) []string { return each(in, text) }

func bytesOf(in []string) [][]byte {
	return each(in, func(s string) []byte { return []byte(s) })
}

func stringsOf(in [][]byte) []string {
	return each(in, func(b []byte) string { return string(b) })
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func mapOf[A, B any](in map[string]A, f func(A) B) map[string]B {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]B, len(in))
	for k, v := range in {
		out[text(k)] = f(v)
	}
	return out
}

// raw keeps "not there" apart from bytes in JSON fields.
func raw(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
