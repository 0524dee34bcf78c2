package protocol

import "strings"

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

func stringsOf(in [][]byte) []string {
	return each(in, func(b []byte) string { return string(b) })
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
