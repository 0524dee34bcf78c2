package observed

import (
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func running() *state.Job {
	return &state.Job{Status: state.Running, Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "slurm.x"}}}
}

// TestNotListedIsNotGone: one reading that misses a job says nothing; a second
// one a minute later says that it is lost.
func TestNotListedIsNotGone(t *testing.T) {
	absent := offer.Observation{Token: "t", Presence: offer.Absent}
	for name, c := range map[string]struct {
		r    Refresh
		want state.Status
		says bool
	}{
		"not asked":            {Refresh{}, state.Running, true},
		"missed once":          {Refresh{Jobs: map[string]offer.Observation{"t": absent}, Gone: map[string]time.Time{"t": now.Add(-time.Second)}}, state.Running, false},
		"missed for a minute":  {Refresh{Jobs: map[string]offer.Observation{"t": absent}, Gone: map[string]time.Time{"t": now.Add(-time.Minute)}}, state.Failed, true},
		"its backend is away":  {Refresh{Jobs: map[string]offer.Observation{"t": absent}, Unreachable: map[string]string{"slurm.x": "no route"}}, state.Running, false},
		"it ended meanwhile":   {Refresh{Jobs: map[string]offer.Observation{"t": {Token: "t", Presence: offer.Found, Status: offer.Completed}}}, state.Completed, true},
		"a launch of its own":  {Refresh{Jobs: map[string]offer.Observation{"t": {Token: "t/2", Presence: offer.Found, Status: offer.Failed}}}, state.Failed, true},
		"its backend is vague": {Refresh{Jobs: map[string]offer.Observation{"t": {Token: "t", Presence: offer.Unknown}}}, state.Running, false},
	} {
		if f := c.r.Join(running(), now); f.Status != c.want || (f.Unknown == "") != c.says {
			t.Errorf("%s: %s, unknown %q", name, f.Status, f.Unknown)
		}
	}
}

// TestLostSaysWhereItWasLookedFor: the reason is the backend's own where it
// gives one.
func TestLostSaysWhereItWasLookedFor(t *testing.T) {
	for said, want := range map[string]string{"": Unlisted, "the queue of spool /s does not know it": "the queue of spool /s does not know it"} {
		r := Refresh{Jobs: map[string]offer.Observation{"t": {Token: "t", Presence: offer.Absent, Reason: said}}, Gone: map[string]time.Time{"t": now}}
		if f := r.Join(running(), now); f.Unknown != want+"; muster looks again in a minute before it counts the job as lost" {
			t.Errorf("missed once: %q", f.Unknown)
		}
		if f := r.Join(running(), now.Add(time.Minute)); f.Status != state.Failed || f.Reason != want {
			t.Errorf("lost: %s, %q, want %q", f.Status, f.Reason, want)
		}
	}
}

// TestBroken: what is missing is named, but for what has a verified copy.
func TestBroken(t *testing.T) {
	job := &state.Job{Address: "phase.a", Status: state.Completed, Outputs: []state.Output{
		{Name: "kept", Path: "k", Copies: []state.Copy{{Backend: "local.here"}}}, {Name: "gone", Path: "g"},
	}}
	r := Refresh{Refreshed: true, Outputs: map[string][]offer.Output{"phase.a": {{Name: "kept", Path: "k"}, {Name: "gone", Path: "g"}}}}
	broken := r.Broken(r.Join(job, now))
	if len(broken) != 1 || broken[0] != "output gone: g: missing" || Lacks(broken)[0] != "gone" {
		t.Errorf("%q", broken)
	}
	r.Uncopied = map[string][]string{"phase.a": {"kept"}}
	if broken = r.Broken(r.Join(job, now)); len(broken) != 2 || Lacks(broken)[0] != "kept" {
		t.Errorf("its copy is gone, too: %q", broken)
	}
}

// TestCancelledAfterItsLaunch: a person who cancels a job counts, whatever became of the launch
// before: one that muster took out of its queue is "blocked".
func TestCancelledAfterItsLaunch(t *testing.T) {
	t.Parallel()
	job := &state.Job{Status: state.Cancelled, By: "ada", Attempts: []state.Attempt{{N: 1, Token: "t", Class: offer.Blocked}}}
	if f := new(Refresh).Join(job, time.Now()); f.Class != "" {
		t.Errorf("class %q", f.Class)
	}
	job.By, job.Class = "", offer.Blocked
	if f := new(Refresh).Join(job, time.Now()); f.Class != offer.Blocked {
		t.Errorf("taken out by muster, class %q", f.Class)
	}
}
