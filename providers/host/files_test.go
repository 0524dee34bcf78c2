package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(h[:])
}

func TestPush(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, part, text, digest string
		ok                       bool
	}{
		{"fresh", "", "hello", sum("hello"), true},
		{"goes on after a part", "hel", "hello", sum("hello"), true},
		{"part of another file", "xyz", "hello", sum("hello"), false},
		{"part longer than the file", "hello world", "hello", sum("hello"), true},
		{"wrong digest", "", "hello", sum("other"), false},
		{"digest unknown", "", "hello", "", true},
		{"empty", "", "", sum(""), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a", "b")
			if c.part != "" {
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.WriteFile(path+".muster-part", []byte(c.part), 0o644)
			}
			err := Push(path, int64(len(c.text)), c.digest, strings.NewReader(c.text))
			if !c.ok && err != nil { // once more: what misled is gone
				if _, e := os.Stat(path); e == nil {
					t.Error("a wrong file is in place")
				}
				return
			}
			b, _ := os.ReadFile(path)
			if (err == nil) != c.ok || string(b) != c.text {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	if err := Push(filepath.Join(t.TempDir(), "x"), 10, "", strings.NewReader("short")); err == nil {
		t.Error("a push that ends early is whole")
	}
}

func TestPullAndList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755)
	for _, f := range []string{"a.txt", "b.txt", "d/c.txt", "d/e/f"} {
		os.WriteFile(filepath.Join(dir, f), []byte(f), 0o644)
	}
	var got bytes.Buffer
	if err := Pull(filepath.Join(dir, "a.txt"), 2, &got); err != nil || got.String() != "txt" {
		t.Errorf("%q %v", got.String(), err)
	}
	wantClass(t, "pull", Pull(filepath.Join(dir, "nope"), 0, &got), providers.NotFound)
	list, err := List([]string{filepath.Join(dir, "*.txt"), filepath.Join(dir, "d"), filepath.Join(dir, "a.txt"), filepath.Join(dir, "nope")})
	var names []string
	for _, f := range list {
		rel, _ := filepath.Rel(dir, f.Path)
		names = append(names, rel)
	}
	if want := "a.txt b.txt d/c.txt d/e/f"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%v %v", names, err)
	}
}

func TestLogs(t *testing.T) {
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
			at, err := lastLinesFrom(path, c.n)
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

func TestPreflight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ro := filepath.Join(dir, "file")
	os.WriteFile(ro, nil, 0o644)
	site := Site{Place: Place{Workdir: dir}, Environ: testEnviron, Devices: []gpu.Device{
		{Index: 0, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true}, {Index: 1, Model: "A100", Reason: "fallen off the bus"}}}
	for _, c := range []struct {
		name  string
		check providers.Check
		want  string
	}{
		{"good", providers.Check{Setup: []string{"true"}}, ""},
		{"workdir to be made", providers.Check{Workdir: filepath.Join(dir, "a", "b")}, ""},
		{"workdir under a file", providers.Check{Workdir: filepath.Join(ro, "x")}, "Workdir cannot be used"},
		{"workdir is a file", providers.Check{Workdir: ro}, "Workdir cannot be used"},
		{"setup", providers.Check{Setup: []string{"echo no such module >&2; exit 4"}}, "Setup does not work"},
		{"file missing", providers.Check{Require: []providers.Require{{Path: "data"}}}, "A required file is not there"},
		{"disk", providers.Check{Disk: 1 << 60}, "There is no room for results"},
		{"one GPU", providers.Check{Shape: offer.Shape{GPUs: 1}}, "A GPU is not healthy"},
		{"two GPUs", providers.Check{Shape: offer.Shape{GPUs: 2}}, "There are not enough healthy GPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			got := ""
			for _, f := range Preflight(ctx, site, []providers.Check{c.check}) {
				got = f.Summary
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	shared := filepath.Join(dir, "shared")
	os.Mkdir(shared, 0o755)
	for spool, want := range map[string]string{filepath.Join(dir, "to", "be", "made"): "", ro: "is not a directory", shared: "chmod 0700 " + shared} {
		if got := unusable(spool); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("spool %s: %q, want %q", spool, got, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "a")); entries != nil {
		t.Error("preflight made a folder")
	}
}
