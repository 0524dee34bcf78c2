package deletion_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/deletion"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/state"
)

// What is gone is recorded and its job forgotten; what could not be deleted, or
// lies where nobody answers, is counted and told, and its record stays.
func TestDelete(t *testing.T) {
	t.Parallel()
	var asked, events, told []string
	job := func(backend, pool string) *state.Job {
		return &state.Job{Status: state.Completed, Outputs: []state.Output{{Name: "o", Path: "o"}}, Attempts: []state.Attempt{{N: 1, Backend: backend, Pool: pool}}}
	}
	r := deletion.Run{
		State: &state.State{Jobs: map[string]*state.Job{"phase.a": job("ssh.lab", "x"), "phase.b": job("ssh.lab", "x"), "phase.c": job("local.local", "")}},
		Now:   func() time.Time { return time.Time{} },
		Emit: func(ev state.Event) {
			if o, ok := ev.(state.OutputsSeen); ok && !o.Outputs[0].Missing {
				t.Errorf("%+v is not said to be missing", o)
			}
			events = append(events, ev.Kind()+" "+state.EventAddress(ev))
		},
		Note: func(address, text string, bad bool) { told = append(told, address+": "+text) },
		Spot: func(backend, pool string) string { return strings.TrimSuffix(backend+"/"+pool, "/") },
		Remove: func(name string, files []fleet.File, done func(int, error)) bool {
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
		},
	}
	r.Delete([]planner.Deletion{
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
	if r.Gone != 2 || r.Left != 2 {
		t.Errorf("%d gone, %d left", r.Gone, r.Left)
	}
}
