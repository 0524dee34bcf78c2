package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
	"github.com/muster-run/muster/state/store"
)

var at = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

func event(i int) state.Event {
	return state.Submitted{Address: `phase.students["lr=1e-3,seed=1"]`, Token: "0123456789abcdef0123456789abcdef", Handle: strings.Repeat("x", i%7), At: at}
}

// journal makes one of n events in memory.
func journal(t testing.TB, n int) []byte {
	t.Helper()
	head, err := Header{Fence: 3, After: Position{Fence: 2, Seq: 10}, At: at}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	f := &memory{data: head}
	w := NewWriter(f, 3, 10, int64(len(head)))
	for i := range n {
		if _, err := w.Append(at, event(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if w.Acked() != uint64(10+n) || w.Size() != int64(len(f.data)) {
		t.Fatalf("acknowledged %d, %d bytes of %d", w.Acked(), w.Size(), len(f.data))
	}
	return f.data
}

type memory struct {
	data  []byte
	room  int // bytes to come; 0 is no end
	fails error
}

func (m *memory) Write(p []byte) (int, error) {
	if m.room > 0 && len(m.data)+len(p) > m.room {
		p = p[:m.room-len(m.data)]
		m.data = append(m.data, p...)
		return len(p), syscall.ENOSPC
	}
	m.data = append(m.data, p...)
	return len(p), nil
}
func (m *memory) Sync() error               { return m.fails }
func (m *memory) Truncate(size int64) error { m.data = m.data[:size]; return nil }
func (m *memory) Close() error              { return nil }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	j, err := Parse("j", journal(t, 5))
	if err != nil || len(j.Lines) != 5 || j.Header.After.Seq != 10 || j.Last() != 15 || j.Torn != 0 {
		t.Fatalf("%+v, %v", j, err)
	}
	for i, l := range j.Lines {
		e, err := l.Decode(new(codec.Decoder))
		if err != nil || e != event(i) || l.Seq != uint64(11+i) || l.Fence != 3 || !l.At.Equal(at) {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	whole := string(journal(t, 3))
	lines := strings.SplitAfter(whole, "\n")
	newer, _ := appendSealed(nil, func(b []byte) ([]byte, error) { return append(b, `"journal":2,"muster":"9.1.0"}`...), nil })
	other := string(journal(t, 1))
	other = strings.Replace(other, `"fence":3`, `"fence":4`, 2)
	for _, c := range []struct {
		name, data, want string
		offset           int64
	}{
		{"empty", "", "no header", 0},
		{"half a header", lines[0][:20], "no header", 0},
		{"no header", lines[1], "first line is not a header", 0},
		{"only a header", lines[0], "", 0},
		{"a torn line", whole[:len(whole)-1], "", 0},
		{"a line missing", lines[0] + lines[1] + lines[3], "event 13 is in the place of event 12", int64(len(lines[0] + lines[1]))},
		{"a line twice", lines[0] + lines[1] + lines[1], "event 11 is in the place of event 12", int64(len(lines[0] + lines[1]))},
		{"lines exchanged", lines[0] + lines[2] + lines[1], "event 12 is in the place", int64(len(lines[0]))},
		{"an empty line", lines[0] + "\n" + lines[1], "not a line of a journal", int64(len(lines[0]))},
		{"two lines in one", lines[0] + strings.TrimSuffix(lines[1], "\n") + lines[2], "checksum", int64(len(lines[0]))},
		{"another file's line", lines[0] + strings.SplitAfter(other, "\n")[1], "checksum", int64(len(lines[0]))},
		{"a later format", string(newer), "use muster 9.1.0 or a newer one", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("dir/muster.state.journal.3", []byte(c.data))
			if _, e := read("dir/muster.state.journal.3", []byte(c.data)); fmt.Sprint(e) != fmt.Sprint(err) {
				t.Errorf("line by line: %v; as a whole: %v", e, err)
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			var corrupt *store.CorruptError
			if errors.As(err, &corrupt) && (corrupt.Offset != c.offset || !strings.Contains(corrupt.Way, "dir/muster.state.lock")) {
				t.Errorf("%+v", corrupt)
			}
		})
	}
}

func TestWriterStopsAtItsFirstError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    *memory
		want error
	}{
		{"no space in the middle of a line", &memory{room: 100}, syscall.ENOSPC},
		{"fsync fails", &memory{fails: syscall.EIO}, syscall.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := NewWriter(c.f, 1, 0, 0)
			if _, err := w.Append(at, event(0)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := w.Sync(); !errors.Is(err, c.want) {
					t.Fatal(err)
				}
			}
			if _, err := w.Append(at, event(1)); !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if len(c.f.data) != 0 || w.Acked() != 0 {
				t.Errorf("%d bytes stay, event %d is acknowledged", len(c.f.data), w.Acked())
			}
		})
	}
}

func TestTextThatIsNoUTF8ComesBackAsItWillBeRead(t *testing.T) {
	t.Parallel()
	w := NewWriter(&memory{}, 1, 0, 0)
	e, err := w.Append(at, state.Freed{Address: "a", By: "\xff"})
	if err != nil || e.(state.Freed).By != "\ufffd" {
		t.Errorf("%+v, %v", e, err)
	}
}

// read reads a journal line by line.
func read(path string, data []byte) (lines []Line, err error) {
	r, err := NewReader(path, bytes.NewReader(data))
	for err == nil {
		var l Line
		if l, err = r.Next(); err == nil {
			lines = append(lines, l)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return lines, err
}

func FuzzParse(f *testing.F) {
	f.Add(journal(f, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := Parse("j", data)
		if lines, e := read("j", data); fmt.Sprint(e) != fmt.Sprint(err) || err == nil && !slices.Equal(lines, j.Lines) {
			t.Errorf("line by line: %v; as a whole: %v", e, err)
		}
		if err == nil && j.Size+j.Torn != int64(len(data)) {
			t.Errorf("%d + %d bytes of %d", j.Size, j.Torn, len(data))
		}
	})
}

// observed is a report as the local backend gives it at a job's end.
var observed = state.Observed{
	Address: `phase.students["lr=1e-3,seed=1"]`, Token: "0123456789abcdef0123456789abcdef", Status: state.Completed, At: at,
	Attempt: state.Attempt{N: 1, Token: "0123456789abcdef0123456789abcdef", Backend: "local", Started: at, Ended: at, Node: "node17", Usage: &state.Usage{Elapsed: 1.5, CPU: 1.25, MaxRSS: 1 << 28}},
	Outputs: []state.Output{{Name: "checkpoint", Backend: "local", Path: "out/students/1/checkpoint.json", Size: 1234, Digest: "sha256:" + strings.Repeat("0f", 32), MTime: 1, Inode: 2}},
	Metrics: map[string]string{"accuracy": "0.97"},
}

func benchmark(b *testing.B, batch int) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "j"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	w := NewWriter(f, 1, 0, 0)
	defer w.Close()
	b.ReportAllocs()
	for b.Loop() {
		for range batch {
			if _, err := w.Append(at, observed); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/event")
}

func BenchmarkAppendSync1(b *testing.B)    { benchmark(b, 1) }
func BenchmarkAppendSync1000(b *testing.B) { benchmark(b, 1000) }

func BenchmarkParse(b *testing.B) {
	data := journal(b, 10_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse("j", data); err != nil {
			b.Fatal(err)
		}
	}
}

var _ File = (*os.File)(nil)
