package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
)

// What is gone is recorded and its job forgotten; what could not be deleted, or
// is where nobody answers, is counted and told, and its record stays.
func TestDeletions(t *testing.T) {
	t.Parallel()
	var asked, events, told []string
	job := func(backend, pool string) *state.Job {
		return &state.Job{Status: state.Completed, Outputs: []state.Output{{Name: "o", Path: "o"}}, Attempts: []state.Attempt{{N: 1, Backend: backend, Pool: pool}}}
	}
	st := &state.State{Jobs: map[string]*state.Job{"phase.a": job("ssh.lab", "x"), "phase.b": job("ssh.lab", "x"), "phase.c": job("local.local", "")}}
	r := recorded(st, time.Time{}, func(ev state.Event) {
		if o, ok := ev.(state.OutputsSeen); ok && !o.Outputs[0].Missing {
			t.Errorf("%+v is not said to be missing", o)
		}
		events = append(events, ev.Kind()+" "+state.EventAddress(ev))
	}, func(address, text string) { told = append(told, address+": "+text) })
	dl := deletions{run: r, places: shelves(func(name string, files []backends.File, done func(int, error)) bool {
		asked = append(asked, fmt.Sprint(name, files))
		switch name {
		case "ssh.lab/x": // in two pieces, the second of which fails
			done(1, nil)
			done(1, errors.New("busy"))
			return true
		case "local.local":
			done(1, nil)
			return true
		}
		return false
	})}
	dl.delete([]planner.Deletion{
		{Address: "phase.a", Output: "o", Backend: "ssh.lab", Path: "o", Workdir: "/w"},
		{Address: "phase.b", Output: "o", Backend: "ssh.lab", Path: "/abs/*", Workdir: "/w", Glob: true},
		{Address: "phase.c", Output: "other", Backend: "local.local", Path: "o"},
		{Address: "phase.gone", Output: "o", Backend: "sim.away", Path: "o"},
	})
	if want := []string{"local.local[{o false}]", "sim.away[{o false}]", "ssh.lab/x[{/w/o false} {/abs/* true}]"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	if want := []string{"forgot phase.c", "outputs_seen phase.a", "forgot phase.a"}; !slices.Equal(events, want) {
		t.Errorf("recorded %q", events)
	}
	if want := []string{
		"backend.sim.away: 1 outputs on backend.sim.away are not deleted: it cannot be reached",
		"backend.ssh.lab: outputs on backend.ssh.lab/x were not deleted: busy",
	}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if dl.gone != 2 || dl.left != 2 {
		t.Errorf("%d gone, %d left", dl.gone, dl.left)
	}
}

// recorded is a run of a state, of which only the journal and the notes are heard.
// Nothing is folded.
func recorded(st *state.State, now time.Time, event func(state.Event), note func(address, text string)) *run {
	r := &run{st: st, Config: Config{Plan: &planner.Plan{}, Session: ears{event: event}, Time: stopped{now: now}}}
	r.report = &progress.Reporter{Time: r.Time, From: durable{}, Show: func(p progress.Snapshot) { note(p.Address, p.Note) }}
	return r
}

// durable is a run whose events are durable at once.
type durable struct{}

func (durable) Phases() []progress.Phase { return nil }
func (durable) Unsynced() bool           { return false }

// ears are a session that hears what is appended.
type ears struct {
	store.Session
	event func(state.Event)
}

func (e ears) Append(events ...state.Event) error {
	for _, ev := range events {
		e.event(ev)
	}
	return nil
}

// stopped is a clock that does not move.
type stopped struct {
	clock.Clock
	now time.Time
}

func (s stopped) Now() time.Time { return s.now }

// shelves remove files.
type shelves func(name string, files []backends.File, done func(int, error)) bool

func (s shelves) FilesOf(backend, pool string) string {
	return strings.TrimSuffix(backend+"/"+pool, "/")
}

func (s shelves) Remove(name string, files []backends.File, done func(int, error)) bool {
	return s(name, files, done)
}
