package observed

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestAwayWaitsForALogin: the backend says once how to log in; its jobs say in short why they
// are unknown.
func TestAwayWaitsForALogin(t *testing.T) {
	t.Parallel()
	const why = "h1 wants you to log in: ssh -M -S /s h1"
	r := Refresh{Refreshed: true, Unreachable: map[string]string{"ssh.a": why, "ssh.b": "no route"}, Logins: map[string]bool{"ssh.a": true}}
	for backend, want := range map[string]string{"ssh.a": "nobody is logged in", "ssh.b": "no route", "ssh.c": ""} {
		if got := r.AllAway()[backend]; got != want {
			t.Errorf("%s: %q, want %q", backend, got, want)
		}
	}
	job := &state.Job{Status: state.Running, Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "ssh.a"}}}
	if f := r.Join(job, time.Now()); !strings.Contains(f.Unknown, "nobody is logged in") || strings.Contains(f.Unknown, "ssh -M") {
		t.Errorf("%q", f.Unknown)
	}
}
