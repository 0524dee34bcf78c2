package rehearse

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

var worldStart = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A campaign is a simulation where every backend that it declares is one.
func TestOf(t *testing.T) {
	sim, real, implied := &lang.Backend{Type: "sim", Name: "x"}, &lang.Backend{Type: "ssh", Name: "lab"}, &lang.Backend{Type: "local", Name: "local", Implied: true}
	for _, test := range []struct {
		name     string
		backends []*lang.Backend
		want     bool
	}{
		{"none declared", []*lang.Backend{implied}, false},
		{"a real one beside it", []*lang.Backend{sim, real}, false},
		{"only simulated ones", []*lang.Backend{implied, sim}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if w := WorldOf(&lang.Campaign{Backends: test.backends}, &state.State{}, worldStart); (w != nil) != test.want {
				t.Errorf("%v", w)
			}
		})
	}
}

// A backend that no phase goes to decides nothing.
func TestUnusedBackends(t *testing.T) {
	c := &lang.Campaign{Backends: []*lang.Backend{{Type: "sim", Name: "x"}, {Type: "local", Name: "l"}}, Phases: []*lang.Phase{{Candidates: []string{"sim.x"}}}}
	if WorldOf(c, &state.State{}, worldStart) == nil {
		t.Error("nothing goes to local.l, and its clock counts")
	}
	c.Phases = append(c.Phases, &lang.Phase{})
	if WorldOf(c, &state.State{}, worldStart) != nil {
		t.Error("a phase without a place may go to local.l")
	}
}

// Its time goes on where the state's ended, which may be after today.
func TestTimeGoesOn(t *testing.T) {
	ended := worldStart.Add(40 * time.Hour)
	j := &state.Job{Address: "phase.a", Status: state.Completed, Attempts: []state.Attempt{{Backend: "sim.x", Intent: worldStart.Add(-time.Hour), Started: worldStart, Ended: ended}}}
	elsewhere := &state.Job{Address: "phase.b", Status: state.Completed, Attempts: []state.Attempt{{Backend: "local.local", Ended: ended.Add(time.Hour)}}}
	w := WorldOf(&lang.Campaign{Backends: []*lang.Backend{{Type: "sim", Name: "x"}}}, &state.State{Jobs: map[string]*state.Job{"phase.a": j, "phase.b": elsewhere}}, worldStart)
	if got := w.Clock.Now(); !got.Equal(ended) {
		t.Errorf("it is %s, want %s", got, ended)
	}
}

func TestAlone(t *testing.T) {
	w := &World{}
	on := func(backends ...string) *planner.Plan {
		pp := &planner.PhasePlan{}
		for _, b := range backends {
			pp.Placements = append(pp.Placements, place.Decision{Backend: b})
		}
		return &planner.Plan{Phases: []*planner.PhasePlan{pp}}
	}
	if !w.Alone(on("sim.x", "")) {
		t.Error("nothing of it is elsewhere")
	}
	if w.Alone(on("sim.x", "ssh.lab")) {
		t.Error("a job goes to ssh.lab")
	}
}
