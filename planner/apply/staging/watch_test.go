package staging

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/connection"
)

// TestMovesAreWatched: how far moves are is said every minute while they last,
// and no longer; a file that resumes is said at once.
func TestMovesAreWatched(t *testing.T) {
	t.Parallel()
	r := &direct{now: time.Unix(1e9, 0)}
	ts := New(Config{Loop: r, Engine: r, Ctx: t.Context(), Time: r})
	far := ts.watch(600<<20, move{"phase.a", "moving o of phase.a", "from x to y"})
	s := &shipment{b: &Endpoint{Title: "backend.ssh.lab"}, far: far}
	ts.shipments[shipmentKey{}] = s
	read := func(from int64, n int) {
		f := far.Counted("f", 0, zeros{})
		_, _ = f.Seek(from, io.SeekStart)
		_, _ = io.CopyN(io.Discard, f, int64(n))
	}
	step := func() {
		f := r.later[0]
		r.later = r.later[1:]
		f()
	}
	step() // nothing has moved
	read(300<<20, 60<<20)
	step()
	s.far = nil
	step()
	if len(r.later) > 0 || ts.watched {
		t.Error("it is watched when nothing moves")
	}
	want := []string{
		"moving o of phase.a from x to y: f resumes at 300MiB of 0B",
		"copying the source to backend.ssh.lab: 60% of 600MiB, 1MiB/s, 4m left",
	}
	if !slices.Equal(r.said, want) {
		t.Errorf("said:\n%s\nwant:\n%s", strings.Join(r.said, "\n"), strings.Join(want, "\n"))
	}
	ts.watch(1, move{})
	if len(r.later) != 1 {
		t.Error("the next move is not watched")
	}
}

// direct is a run that executes what is posted at once, and notes what comes
// later and what is said.
type direct struct {
	connection.Loop
	Engine
	clock.Clock
	now   time.Time
	later []func()
	said  []string

	stopped bool
}

func (r *direct) Stopped() bool               { return r.stopped }
func (r *direct) Post(f func())               { f() }
func (r *direct) Park(func() bool)            {}
func (r *direct) Now() time.Time              { return r.now }
func (r *direct) Note(_, text string, _ bool) { r.said = append(r.said, text) }
func (r *direct) Later(d time.Duration, f func()) {
	r.later = append(r.later, func() { r.now = r.now.Add(d); f() })
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error)          { return len(b), nil }
func (zeros) Seek(at int64, _ int) (int64, error) { return at, nil }
