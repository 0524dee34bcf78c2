package staging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/state"
)

var errBroken = errors.New("the connection broke")

// plain are the files of this machine; none is removed.
type plain struct{ machine.Files }

func (plain) Remove(context.Context, providers.RemoveRequest) error { return nil }

// A flaky end breaks once after so many bytes that are pulled.
type flaky struct {
	plain
	most int64
	look func()
	over chan struct{} // each pull, when it ended: a move need not wait for that
}

func (f *flaky) Pull(ctx context.Context, backend, path string, offset int64, w io.Writer) error {
	most := f.most
	if f.most = 0; most == 0 {
		most = 1 << 40
	}
	err := f.plain.Pull(ctx, backend, path, offset, &limited{w, most})
	f.look()
	f.over <- struct{}{}
	return err
}

type limited struct {
	w    io.Writer
	most int64
}

func (l *limited) Write(b []byte) (int, error) {
	n, err := l.w.Write(b[:min(int64(len(b)), l.most)])
	if l.most -= int64(n); err == nil && n < len(b) {
		err = errBroken
	}
	return n, err
}

// TestProgress: of what moves between two places, or to this one, is known which
// share is there, at what rate, and that a file resumes where it broke.
func TestProgress(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	data := bytes.Repeat([]byte("x"), size)
	sum := sha256.Sum256(data)
	o := state.Output{Name: "o", Path: "out/a", Size: size, Digest: "sha256:" + hex.EncodeToString(sum[:])}
	for name, move := range map[string]func(from, to Side, far *Progress) error{
		"move": func(from, to Side, far *Progress) error {
			_, err := Move(context.Background(), from, to, Load{Output: o, From: o.Path, Kind: lang.File, Progress: far})
			return err
		},
		"fetch": func(from, to Side, far *Progress) error {
			_, err := Fetch(context.Background(), from, o, to.Workdir, far)
			return err
		},
	} {
		a, b := t.TempDir(), t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(a, "out"), 0o755), os.WriteFile(filepath.Join(a, "out/a"), data, 0o644)); err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1e9, 0)
		var far *Progress
		var resumed, said []string
		begin := func() {
			far = Begin(size, now)
			far.Resumed = func(file string, at, size int64) {
				resumed = append(resumed, ResumedText(filepath.Base(file), at, size))
			}
		}
		at := func(dir string) func(string) (string, error) { return func(string) (string, error) { return dir, nil } }
		src := &flaky{plain: plain{machine.Files{Workdir: at(a)}}, most: 1 << 20, over: make(chan struct{}, 8)}
		src.look = func() {
			now = now.Add(time.Second)
			said = append(said, Text(now, far))
		}
		from, to := Side{Files: src, Workdir: a}, Side{Files: plain{machine.Files{Workdir: at(b)}}, Workdir: b}
		begin()
		if text := Text(now, far); text != "" {
			t.Errorf("%s: nothing has moved: %q", name, text)
		}
		if err := move(from, to, far); !errors.Is(err, errBroken) && (err == nil || !strings.Contains(err.Error(), errBroken.Error())) {
			t.Errorf("%s: %v", name, err)
		}
		<-src.over
		if want := "25% of 4MiB, 1MiB/s, 3s left"; len(said) != 1 || said[0] != want {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
		now = now.Add(time.Minute)
		if text, want := Text(now, far), "25% of 4MiB, and nothing arrives"; text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
		begin()
		if err := move(from, to, far); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		<-src.over
		if want := "a resumes at 1MiB of 4MiB"; len(resumed) != 1 || resumed[0] != want {
			t.Errorf("%s: %q, want %q", name, resumed, want)
		}
		if text, want := Text(now, far), "all of 4MiB is there and is verified now"; text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
	var resumed []int64
	far := Begin(4, time.Unix(0, 0))
	far.Resumed = func(_ string, at, _ int64) { resumed = append(resumed, at) }
	file := far.Counted("f", 4, strings.NewReader("abcd"))
	for _, at := range []int64{0, 2, 1, 0} { // as a push does that begins, and is asked again
		_, err := file.Seek(at, io.SeekStart)
		if _, readErr := io.ReadFull(file, make([]byte, 2)); err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
	}
	if !slices.Equal(resumed, []int64{2, 1}) {
		t.Errorf("a file that is asked for at 0, 2, 1 and 0 resumes at %d", resumed)
	}
	a, b := Begin(100, time.Unix(0, 0)), Begin(300, time.Unix(0, 0))
	a.count("x", 0, 50, 100)
	b.count("y", 0, 50, 300)
	if text, want := Text(time.Unix(10, 0), a, b), "25% of 400B, 10B/s, 30s left"; text != want {
		t.Errorf("two: %q, want %q", text, want)
	}
}
