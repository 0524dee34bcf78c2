package page

import (
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// What cannot be asked is unknown, with since when nothing was heard and why;
// what a backend says of the others is shown.
func TestStatusOfAHostThatIsAway(t *testing.T) {
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	flying := func(address, backend, token string) *state.Job {
		return &state.Job{Address: address, Status: state.Running, Updated: now.Add(-12 * time.Minute),
			Attempts: []state.Attempt{{N: 1, Token: token, Backend: backend, Started: now.Add(-12 * time.Minute)}}}
	}
	waits := flying(`phase.t["i=3"]`, "ssh.lab", "33")
	waits.Status, waits.Attempts[0].Started = state.Queued, time.Time{}
	m := statusMaker{st: &state.State{}, seen: Seen{
		Jobs: map[string]offer.Observation{
			"22": {Token: "22", Presence: offer.Unknown, Reason: "host a cannot be reached: no route to host"},
			"33": {Token: "33", Presence: offer.Found, Status: offer.Queued, Reason: "GPU 0 is held by python of ada (pid 4711)"},
		},
		Unreachable: map[string]string{"ssh.far": "dial far: connection refused"},
	}}
	jobs := []JobStatus{
		m.job(`phase.t["i=1"]`, flying(`phase.t["i=1"]`, "ssh.far", "11")),
		m.job(`phase.t["i=2"]`, flying(`phase.t["i=2"]`, "ssh.lab", "22")),
		m.job(`phase.t["i=3"]`, waits),
	}
	r := Status{Campaign: "c", Jobs: jobs, Unreachable: m.seen.Unreachable}
	want := `
campaign "c"


? backend.ssh.far cannot be asked: dial far: connection refused

  queued   phase.t["i=3"]  ssh.lab  12m ago  GPU 0 is held by python of ada (pid 4711)
  unknown  phase.t["i=1"]  ssh.far  since 12m
      last heard of as running; dial far: connection refused
  unknown  phase.t["i=2"]  ssh.lab  since 12m
      last heard of as running; host a cannot be reached: no route to host
`
	if got := r.Text(term.Style{UTF8: true, Width: term.MaxWidth}, now, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
