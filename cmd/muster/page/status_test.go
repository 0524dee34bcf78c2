package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// What a run could not ask is unknown from then on, whoever looks at the state,
// until a backend says otherwise.
func TestStatusOfAHostThatARunLost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	at := func(pool, token string) *state.Job {
		return &state.Job{Status: state.Running, Updated: now.Add(-time.Hour),
			Attempts: []state.Attempt{{N: 1, Token: token, Backend: "ssh.lab", Pool: pool, Started: now.Add(-time.Hour)}}}
	}
	st := &state.State{Away: map[string]state.Away{"ssh.lab/h2": {Backend: "ssh.lab/h2", Reason: "cannot reach h2", At: now.Add(-5 * time.Minute)}}}
	m := statusMaker{st: st}
	if got := m.job("phase.t", at("h1", "11")); got.Status != "running" {
		t.Errorf("on the host that answers: %+v", got)
	}
	got := m.job("phase.t", at("h2", "22"))
	if got.Status != "unknown" || since(got, now) != "since 5m" || got.Reason != "last seen running; cannot reach h2" || !active(got.Status) {
		t.Errorf("on the host that is away: %+v, %s", got, since(got, now))
	}
	m.seen.Jobs = map[string]offer.Observation{"22": {Token: "22", Presence: offer.Found, Status: offer.Running}}
	if got := m.job("phase.t", at("h2", "22")); got.Status != "running" {
		t.Errorf("it answers again: %+v", got)
	}
}

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
  unknown  phase.t["i=1"]  ssh.far  since 12m  last seen running; dial far: connection refused
  unknown  phase.t["i=2"]  ssh.lab  since 12m
      last seen running; host a cannot be reached: no route to host
`
	if got := r.Text(term.Style{UTF8: true, Width: term.MaxWidth}, now, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStatusOfAJobThatEndedBefore: a failure is as old as the end of its launch, although muster
// was off by then, and read of it a minute ago.
func TestStatusOfAJobThatEndedBefore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	last := state.Attempt{N: 1, Token: "11", Backend: "slurm.lab", Started: now.Add(-8 * time.Hour), Ended: now.Add(-7 * time.Hour)}
	recorded := &state.Job{Status: state.Failed, Updated: now.Add(-time.Minute), Attempts: []state.Attempt{last}}
	m := statusMaker{st: &state.State{}}
	if got := since(m.job("phase.t", recorded), now); got != "7h ago" {
		t.Errorf("recorded: failed %s", got)
	}
	last.Ended = time.Time{}
	runs := &state.Job{Status: state.Running, Updated: now.Add(-8 * time.Hour), Attempts: []state.Attempt{last}}
	m.seen.Jobs = map[string]offer.Observation{"11": {Token: "11", Presence: offer.Found, Status: offer.Failed, Ended: now.Add(-7 * time.Hour)}}
	if got := since(m.job("phase.t", runs), now); got != "7h ago" {
		t.Errorf("seen by status -refresh: failed %s", got)
	}
}

// TestStatusNamesRentals: machines that are billed are in the status, with what they cost
// and what ends them; those that are gone are not.
func TestStatusNamesRentals(t *testing.T) {
	t.Parallel()
	st := &state.State{Jobs: map[string]*state.Job{}, Rentals: map[string]state.Rental{
		"9": {ID: "9", Backend: "vastai.cloud", Status: state.RentalRunning, PerHour: "0.35"},
		"8": {ID: "8", Backend: "vastai.cloud", Status: state.RentalReleased, PerHour: "0.35"},
	}}
	c := &lang.Campaign{Name: "c", Backends: []*lang.Backend{{Type: "vastai", Name: "cloud", Hold: 2 * time.Minute, OnHold: "release", Rents: true, DeadMan: true}}}
	text := StatusOf(c, st, selection.Jobs{}, Seen{}, time.Now()).Text(term.Style{Width: 100}, time.Now(), false)
	if want := "\nStill rented: 9 on vastai.cloud, running, $0.35/h, released 2m after its last job.\n"; !strings.Contains(text, want) || strings.Contains(text, "rented: 8") {
		t.Errorf("%s\nwant %q", text, want)
	}
}
