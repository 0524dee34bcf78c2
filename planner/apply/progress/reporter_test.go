package progress

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/cells"
)

// reported is a run of one phase.
type reported struct {
	unsynced bool
	done     int
}

func (r *reported) Phases() []Phase { return []Phase{{Done: r.done}} }
func (r *reported) Unsynced() bool  { return r.unsynced }

func TestNothingIsToldBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	var shown []Snapshot
	r := &reported{unsynced: true}
	tell := Reporter{Show: func(s Snapshot) { shown = append(shown, s) }, Time: clock.Wall, From: r}
	tell.Begin()
	tell.Note("phase.a", "phase.a: it failed", true)
	if tell.Tick(); len(shown) != 0 {
		t.Fatalf("told too early: %+v", shown)
	}
	r.unsynced = false
	tell.Durable()
	if len(shown) != 1 || shown[0].Note != "it failed" || shown[0].Address != "phase.a" || !shown[0].Bad || shown[0].Started.IsZero() {
		t.Errorf("told %+v", shown)
	}
	tell.Note("phase.a", "phase.a comes after phase.a", false)
	if shown[1].Note != "phase.a comes after phase.a" {
		t.Errorf("the address is cut out of %q", shown[1].Note)
	}
}

// TestNext: a run in which nothing happens is reported every minute by the machine's
// clock; virtual time does not stop for that.
func TestNext(t *testing.T) {
	t.Parallel()
	r := Reporter{Show: func(Snapshot) {}, Time: clock.Wall, From: &reported{}}
	if at := r.Next(); !at.IsZero() {
		t.Errorf("before the first report: %s", at)
	}
	r.Tick()
	if d := r.Next().Sub(r.last); d != time.Minute {
		t.Errorf("the next report is due after %s", d)
	}
	r.Tick()
	if d := r.Next().Sub(r.last); d != every {
		t.Errorf("after a tick that came too early: %s", d)
	}
	if at := (&Reporter{Time: clock.Wall, From: &reported{}, last: r.last}).Next(); !at.IsZero() {
		t.Error("a report is due to nobody")
	}
}

// TestHeldAlikeIsToldOnce: jobs of a phase that are held for one reason in one go
// are one line; others, and those of the next, have lines of their own.
func TestHeldAlikeIsToldOnce(t *testing.T) {
	t.Parallel()
	var shown []string
	r := &reported{unsynced: true}
	tell := Reporter{Show: func(s Snapshot) { shown = append(shown, s.Address+"|"+s.Note) }, Time: clock.Wall, From: r}
	durable := func() {
		r.unsynced = false
		tell.Durable()
		r.unsynced = true
	}
	for i := range 5000 {
		tell.NoteHeld("phase.a", fmt.Sprintf("phase.a[%d]", i), "no such account")
	}
	tell.NoteHeld("phase.a", "phase.a[x]", "no such partition")
	tell.NoteHeld("phase.b", "phase.b[0]", "no such account")
	durable()
	tell.NoteHeld("phase.a", "phase.a[y]", "no such account")
	durable()
	want := []string{"phase.a|phase.a[0] and 4999 more are held: no such account", "phase.a[x]|is held: no such partition",
		"phase.b[0]|is held: no such account", "phase.a[y]|is held: no such account"}
	if !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
}

// TestTicksThatComeTooEarlyAreMadeUpFor: the last change is never left unshown.
func TestTicksThatComeTooEarlyAreMadeUpFor(t *testing.T) {
	t.Parallel()
	n := 0
	tell := Reporter{Show: func(Snapshot) { n++ }, Time: clock.Wall, From: &reported{}}
	tell.Tick()
	if n != 1 || !tell.Next().Equal(tell.last.Add(seldom)) {
		t.Errorf("%d reports, next at %s", n, tell.Next())
	}
	tell.last = tell.Time.Now().Add(every) // however slow the machine
	if tell.Tick(); n != 1 || !tell.Next().Equal(tell.last.Add(every)) {
		t.Errorf("%d reports, next at %s", n, tell.Next())
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	n := cells.Vertex{Tally: cells.NewTally(6)}
	for c, s := range []cells.Status{cells.Done, cells.Pending, cells.Ready, cells.Submitting, cells.Ending} {
		n.Set(int32(c), s)
	}
	want := Phase{Phase: "a", Total: 5, Done: 1, Unsubmitted: 1, Pending: 1, Blocked: 1, Cancelled: 1}
	if got := Of("a", &n, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestTheEndIsDurable: where a store failed, what it does not hold is not how
// the run ended.
func TestTheEndIsDurable(t *testing.T) {
	t.Parallel()
	var last Snapshot
	r := &reported{done: 1}
	tell := Reporter{Show: func(s Snapshot) { last = s }, Time: clock.Wall, From: r}
	tell.Begin()
	tell.Tick()
	r.unsynced, r.done = true, 2
	if tell.Final(); !last.Final || len(last.Phases) != 1 || last.Phases[0].Done != 1 {
		t.Errorf("the store failed: %+v", last)
	}
	r.unsynced = false
	if tell.Final(); !last.Final || last.Phases[0].Done != 2 {
		t.Errorf("all is durable: %+v", last)
	}
}
