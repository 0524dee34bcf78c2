package rental

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// TestGiveBack: a machine is given back where nothing runs there and no result
// lies there alone, and is billed until its provider says that it is gone.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	only := &state.Job{Address: "phase.a", Status: state.Completed, Outputs: []state.Output{{Name: "o", Backend: "far.x", Path: "a"}}}
	if only.OnlyOn("far.x") != 1 {
		t.Fatal("its result lies elsewhere, too")
	}
	const gone = "is gone"
	for name, c := range map[string]struct {
		was     state.RentalStatus // its status in the state; "" = not known there
		running int
		job     *state.Job
		says    string // of the provider; "" = it is not reached
		becomes string // statuses
		note    string
	}{
		"idle":                   {was: "idle", says: gone, becomes: "deleting released"},
		"one that nobody knew":   {says: gone, becomes: "deleting released"},
		"asked for before":       {was: "deleting", says: gone, becomes: "released"},
		"gone already":           {was: "released", says: gone},
		"a job may run there":    {was: "idle", running: 1, says: gone, note: "r1 on backend.far.x is kept: 1 job may run there"},
		"a result lies there":    {was: "idle", job: only, says: gone, note: "r1 on backend.far.x is kept: 1 output there without a verified copy elsewhere; `muster pull` makes one"},
		"it is there still":      {was: "idle", says: "it is listed still", becomes: "deleting", note: "r1 on backend.far.x was not released, and is billed: it is listed still"},
		"nothing reaches it":     {was: "idle", note: "r1 on backend.far.x was not released, and is billed: nothing reaches that backend"},
		"running, and not known": {running: 2, says: gone, note: "2 jobs may run there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &state.State{Rentals: map[string]state.Rental{}, Jobs: map[string]*state.Job{}}
			if c.was != "" {
				st.Rentals["r1"] = state.Rental{ID: "r1", Backend: "far.x", Status: c.was, PerHour: "9"}
			}
			if c.job != nil {
				st.Jobs[c.job.Address] = c.job
			}
			var became, notes []string
			now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
			r := Run{State: st, Now: func() time.Time { return now },
				Emit: func(e state.Event) {
					m := e.(state.Rented).Rental
					became = append(became, string(m.Status))
					if m.ID != "r1" || m.Backend != "far.x" || m.PerHour != "0.60" || m.Since != now {
						t.Errorf("%+v", m)
					}
				},
				Note:    func(address, text string, bad bool) { notes = append(notes, text) },
				Running: func(string) int { return c.running },
				Releases: func(string) func(string, func(error)) {
					if c.says == "" {
						return nil
					}
					return func(id string, told func(error)) {
						if id != "r1" || became == nil && c.was != "deleting" {
							t.Errorf("%s is released, and the state has %q", id, became)
						}
						if c.says != gone {
							told(errors.New(c.says))
							return
						}
						told(nil)
					}
				}}
			r.GiveBack(&planner.Row{Address: "r1", Backend: "far.x", PerHour: "0.60"})
			if got := strings.Join(became, " "); got != c.becomes {
				t.Errorf("it became %q, not %q", got, c.becomes)
			}
			if got := strings.Join(notes, "\n"); (got == "") != (c.note == "") || !strings.Contains(got, c.note) {
				t.Errorf("it is said %q, not %q", got, c.note)
			}
		})
	}
}
