package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

func TestLogs(t *testing.T) {
	// Requirement: SUB-06
	t.Parallel()
	w := newWorld(t)
	j := w.job("for i in 1 2 3 4; do echo line $i; done; echo bad >&2; sleep 0.5; echo late; echo > out", "out")
	w.submit(j)
	ctx := context.Background()
	read := func(r providers.LogRequest) string {
		t.Helper()
		r.Token = j.Token
		var b bytes.Buffer
		if err := w.client.Logs(ctx, w.place, r, &b); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	if got := read(providers.LogRequest{Follow: true}); got != "line 1\nline 2\nline 3\nline 4\nlate\n" {
		t.Errorf("followed: %q", got)
	}
	w.wait(j)
	if got := read(providers.LogRequest{Lines: 2}); got != "line 4\nlate\n" {
		t.Errorf("tail: %q", got)
	}
	if got := read(providers.LogRequest{Offset: 21}); got != "line 4\nlate\n" {
		t.Errorf("offset: %q", got)
	}
	if got := read(providers.LogRequest{Stderr: true}); got != "bad\n" {
		t.Errorf("stderr: %q", got)
	}
	w.until("acknowledged", func() bool { return true })
	wantClass(t, "unknown", w.client.Logs(ctx, w.place, providers.LogRequest{Token: "nobodyknows"}, &bytes.Buffer{}), providers.NotFound)
}

func TestLastLinesFrom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 3000)
	for _, c := range []struct {
		name, text string
		n          int
		want       string
	}{
		{"fewer than asked", "a\nb\n", 5, "a\nb\n"},
		{"one", "a\nb\n", 1, "b\n"},
		{"no newline at the end", "a\nb", 1, "b"},
		{"empty lines", "a\n\n\n", 2, "\n\n"},
		{"over blocks", long, 2000, long[100*1000:]},
		{"empty", "", 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			os.WriteFile(path, []byte(c.text), 0o644)
			at, err := attempt.LastLinesFrom(path, c.n)
			if err != nil || c.text[at:] != c.want {
				t.Errorf("from %d, %v", at, err)
			}
		})
	}
}

func TestMoveAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	os.MkdirAll(w.path("r"), 0o755)
	os.WriteFile(w.path("r/out"), []byte("old"), 0o644)
	j := w.job("test ! -e r/out && echo new > r/out", "r/out")
	j.MoveAside = "2"
	w.submit(j)
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Fatalf("%+v", o)
	}
	if got := w.read(".muster/replaced/2/r/out"); got != "old" {
		t.Errorf("%q", got)
	}
	if got := w.read("r/out"); got != "new\n" {
		t.Errorf("%q", got)
	}
}

func TestBaselineIsOfTheFirstAttempt(t *testing.T) {
	t.Parallel()
	// What the first attempt wrote is new to the result: a second one that
	// finds its work done is done.
	w := newWorld(t)
	first := w.job("echo x > out; exit 1", "out")
	second := w.job("test -e out", "out")
	second.ResultHash, second.Attempt = first.ResultHash, 2
	w.submit(first)
	w.wait(first)
	w.kill()
	w.submit(second)
	if o := w.wait(second)[0]; o.Status != offer.Completed || o.Attempt != 2 {
		t.Errorf("%+v", o)
	}
}
