package contact

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/state"
)

func job(n string, attempts ...int) *state.Job {
	j := &state.Job{Address: "phase." + n}
	for _, a := range attempts {
		j.Attempts = append(j.Attempts, state.Attempt{N: a, Token: n})
	}
	return j
}

// Logs that are followed together do not mix within a line, wherever what came
// was cut.
func TestLinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	var mu sync.Mutex
	f := LogFormat{Named: true, Style: term.Style{}}
	a, b := job("a", 1), job("b", 1)
	wa, wb := f.writer(a, &a.Attempts[0], &out, &mu), f.writer(b, &b.Attempts[0], &out, &mu)
	for _, w := range []struct {
		to   *logWriter
		text string
	}{{wa, "epo"}, {wb, "x\ny"}, {wa, "ch 1\nepoch"}, {wb, "\r\n"}, {wa, " 2"}} {
		if n, err := w.to.Write([]byte(w.text)); err != nil || n != len(w.text) {
			t.Fatalf("%d, %v", n, err)
		}
	}
	wa.flush()
	wb.flush()
	const want = "phase.b | x\nphase.a | epoch 1\nphase.b | y\nphase.a | epoch 2\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// A line without an end takes no more memory than the longest.
func TestLongLineIsBroken(t *testing.T) {
	var out bytes.Buffer
	j := job("a", 1)
	w := LogFormat{}.writer(j, &j.Attempts[0], &out, &sync.Mutex{})
	for range 3 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), longestLine/2)); err != nil {
			t.Fatal(err)
		}
	}
	w.flush()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || len(lines[0]) != longestLine || len(lines[1]) != longestLine/2 {
		t.Errorf("%d lines", len(lines))
	}
}

// What a job wrote does nothing to the terminal, and is valid JSON for machines.
func TestForeignTextIsHarmless(t *testing.T) {
	j := job("a", 2)
	for want, f := range map[string]LogFormat{
		"\u241b[31mred\n": {},
		`{"format_version":"1.0","address":"phase.a","attempt":2,"stream":"stderr","text":"` + "\\u001b[31mred\ufffd" + `"}` + "\n": {JSON: true, Stderr: true},
	} {
		var out bytes.Buffer
		w := f.writer(j, &j.Attempts[0], &out, &sync.Mutex{})
		text := "\x1b[31mred"
		if f.JSON {
			text += "\xff"
		}
		if _, err := w.Write([]byte(text + "\n")); err != nil || !w.printed {
			t.Errorf("%v, printed: %v", err, w.printed)
		}
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
}

// After a resume attempts count from 1 again: a number is the newest of that
// number, and those before are counted back.
func TestAttempt(t *testing.T) {
	j := job("a", 1, 2, 1)
	for n, want := range map[int]int{0: 2, 1: 2, 2: 1, -1: 1, -2: 0} {
		if at, err := attemptOf(j, n); err != nil || at != &j.Attempts[want] {
			t.Errorf("attempt %d: %+v, %v", n, at, err)
		}
	}
	for n, want := range map[int]string{3: "phase.a has no attempt 3; it has 3", -3: "phase.a has no attempt 3 before its last; it has 3 in all"} {
		if _, err := attemptOf(j, n); err == nil || err.Error() != want {
			t.Errorf("attempt %d: %v", n, err)
		}
	}
}
