package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestReleases: a machine is given back where nothing runs there and no result
// is there alone, and is billed until its provider says that it is gone.
func TestReleases(t *testing.T) {
	t.Parallel()
	only := &state.Job{Address: "phase.a", Status: state.Completed, Outputs: []state.Output{{Name: "o", Backend: "far.x", Path: "a"}}}
	if only.OnlyOn("far.x") != 1 {
		t.Fatal("its result lies elsewhere, too")
	}
	const gone = "is gone"
	const asked = "r1 on backend.far.x is being released: it is billed, at $0.60/h, until its provider says that it is gone"
	for name, c := range map[string]struct {
		was     state.RentalStatus // its status in the state; "" = not known there
		running int
		orphan  bool
		job     *state.Job
		says    string // of the provider; "" = it is not reached
		becomes string // statuses
		note    string
	}{
		"idle":                   {was: "idle", says: gone, becomes: "deleting released", note: asked},
		"one that nobody knew":   {says: gone, becomes: "deleting released", note: asked},
		"asked for before":       {was: "deleting", says: gone, becomes: "released", note: asked},
		"gone already":           {was: "released", says: gone},
		"a job may run there":    {was: "idle", running: 1, says: gone, note: "r1 on backend.far.x is kept: 1 job may run there"},
		"a result lies there":    {was: "idle", job: only, says: gone, note: "r1 on backend.far.x is kept: 1 output there without a verified copy elsewhere; `muster pull` makes one"},
		"it is there still":      {was: "idle", says: "it is listed still", becomes: "deleting", note: asked + "\nr1 on backend.far.x was not released, and is billed: it is listed still"},
		"nothing reaches it":     {was: "idle", note: "r1 on backend.far.x was not released, and is billed: nothing reaches that backend"},
		"running, and not known": {running: 2, says: gone, note: "2 jobs may run there"},
		"an orphan":              {running: 2, orphan: true, job: only, says: gone, becomes: "deleting released", note: asked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &state.State{Rentals: map[string]state.Rental{}, Jobs: map[string]*state.Job{}}
			if c.was != "" {
				st.Rentals["r1"] = state.Rental{ID: "r1", Backend: "far.x", Status: c.was, PerHour: "9", Account: "5001"}
			}
			if c.job != nil {
				st.Jobs[c.job.Address] = c.job
			}
			var became, notes []string
			now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
			r := recorded(st, now, func(e state.Event) {
				m := e.(state.Rented).Rental
				became = append(became, string(m.Status))
				if known := c.was != ""; known != (m.Account == "5001") {
					t.Errorf("its account is %q", m.Account)
				}
				if m.ID != "r1" || m.Backend != "far.x" || m.PerHour != "0.60" || m.Since != now {
					t.Errorf("%+v", m)
				}
			}, func(_, text string) { notes = append(notes, text) })
			js := &jobs{run: r, attempts: map[string]*attempt{}}
			there := &backends.Backend{Contact: &backends.Contact{Backend: connection.Backend{Name: "far.x"}}}
			for n := range c.running {
				js.attempts[fmt.Sprint(n)] = &attempt{Attempt: backends.Attempt{B: there}}
			}
			rl := releases{jobs: js, places: landlord(func(ids []string, told func(string, error)) {
				if id := ids[0]; len(ids) != 1 || id != "r1" || became == nil && c.was != "deleting" {
					t.Errorf("%s is released, and the state has %q", id, became)
				}
				if c.says != gone {
					told("r1", errors.New(c.says))
					return
				}
				told("r1", nil)
			})}
			if c.says == "" {
				rl.places = landlord(nil)
			}
			rl.giveBack(&planner.Row{Address: "r1", Backend: "far.x", PerHour: "0.60", Orphan: c.orphan})
			rl.send()
			if got := strings.Join(became, " "); got != c.becomes {
				t.Errorf("it became %q, not %q", got, c.becomes)
			}
			if got := strings.Join(notes, "\n"); (got == "") != (c.note == "") || !strings.Contains(got, c.note) {
				t.Errorf("it is said %q, not %q", got, c.note)
			}
		})
	}
}

// TestADestroyWaitsForWhatItLooksUp: a machine is given back when the ends of its last jobs are
// recorded, and is kept where that does not come.
func TestADestroyWaitsForWhatItLooksUp(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		var notes []string
		st := &state.State{Rentals: map[string]state.Rental{"r1": {ID: "r1", Backend: "far.x", Status: state.RentalRunning, PerHour: "9"}}}
		r := recorded(st, time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC), func(state.Event) {}, func(_, text string) { notes = append(notes, text) })
		r.Plan.Destroy = true
		there := &backends.Backend{Contact: &backends.Contact{Backend: connection.Backend{Name: "far.x"}}}
		js := &jobs{run: r, attempts: map[string]*attempt{"a": {Attempt: backends.Attempt{B: there}}}}
		released := 0
		rl := releases{jobs: js, places: landlord(func(_ []string, told func(string, error)) { released++; told("r1", nil) })}
		rl.giveBack(&planner.Row{Address: "r1", Backend: "far.x", PerHour: "0.60"})
		rl.look()
		if released > 0 || len(notes) > 0 {
			t.Errorf("released %d times, %q, while a job is looked up", released, notes)
		}
		if ends {
			delete(js.attempts, "a")
			rl.look()
		}
		rl.askLast()
		if text := strings.Join(notes, "\n"); (released == 1) != ends || ends == strings.Contains(text, "is kept: 1 job may run there") {
			t.Errorf("its job ended: %v; released %d times, %q", ends, released, text)
		}
	}
}

// TestReleasesAreAskedForTogether: no machine is billed while those before it end, and each
// has its own answer.
func TestReleasesAreAskedForTogether(t *testing.T) {
	t.Parallel()
	st := &state.State{Rentals: map[string]state.Rental{}}
	for _, id := range []string{"r1", "r2", "r3"} {
		st.Rentals[id] = state.Rental{ID: id, Backend: "far.x", Status: state.RentalRunning}
	}
	became := map[string]state.RentalStatus{}
	r := recorded(st, time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC), func(e state.Event) { m := e.(state.Rented).Rental; became[m.ID] = m.Status }, func(string, string) {})
	r.Plan.Destroy = true
	var asked [][]string
	rl := releases{jobs: &jobs{run: r}, places: landlord(func(ids []string, told func(string, error)) {
		asked = append(asked, ids)
		told("r1", nil)
		told("r2", errors.New("it is still there"))
		told("r3", nil)
	})}
	for _, id := range []string{"r1", "r2", "r3"} {
		rl.giveBack(&planner.Row{Address: id, Backend: "far.x"})
	}
	rl.look()
	rl.look()
	if want := [][]string{{"r1", "r2", "r3"}}; !cmp.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if want := map[string]state.RentalStatus{"r1": state.RentalReleased, "r2": state.RentalDeleting, "r3": state.RentalReleased}; !cmp.Equal(became, want) {
		t.Errorf("%v", became)
	}
}

// TestRentalIsRecordedAsItsProviderSays: what a backend rents is recorded once, and
// again when its provider says something else.
func TestRentalIsRecordedAsItsProviderSays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	at := now.Add(-time.Hour)
	box := state.Rental{ID: "r1", Kind: "1× RTX 4090", Backend: "far.x", Since: at, Status: state.RentalRunning, PerHour: "0.60"}
	with := func(change func(r *state.Rental)) *state.Rental {
		r := box
		change(&r)
		return &r
	}
	for name, c := range map[string]struct {
		was  *state.Rental
		says offer.Rental
		want *state.Rental
	}{
		"new":                    {nil, offer.Rental{ID: "r1", Kind: box.Kind, Since: at, Rate: "0.60", Status: offer.RentalRunning}, &box},
		"the same":               {&box, offer.Rental{ID: "r1", Kind: box.Kind, Since: at, Rate: "0.60", Status: offer.RentalRunning}, nil},
		"no time, and no rate":   {&box, offer.Rental{ID: "r1", Kind: box.Kind, Status: offer.RentalRunning}, nil},
		"stopped, no time":       {&box, offer.Rental{ID: "r1", Kind: box.Kind, Status: offer.RentalStopped}, with(func(r *state.Rental) { r.Status, r.Since = state.RentalStopped, now })},
		"the price rose":         {&box, offer.Rental{ID: "r1", Kind: box.Kind, Since: at, Rate: "0.70", Status: offer.RentalRunning}, with(func(r *state.Rental) { r.PerHour = "0.70" })},
		"asked to go, and there": {with(func(r *state.Rental) { r.Status = state.RentalDeleting }), offer.Rental{ID: "r1", Kind: box.Kind, Status: offer.RentalRunning}, nil},
		"gone":                   {with(func(r *state.Rental) { r.Status = state.RentalDeleting }), offer.Rental{ID: "r1", Kind: box.Kind, Since: now, Status: offer.RentalReleased}, with(func(r *state.Rental) { r.Status, r.Since = state.RentalReleased, now })},
		"released, and back":     {with(func(r *state.Rental) { r.Status = state.RentalReleased }), offer.Rental{ID: "r1", Kind: box.Kind, Since: now, Status: offer.RentalRunning}, with(func(r *state.Rental) { r.Since = now })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &state.State{Rentals: map[string]state.Rental{}}
			if c.was != nil {
				st.Rentals["r1"] = *c.was
			}
			var got *state.Rental
			r := recorded(st, now, func(e state.Event) {
				m := e.(state.Rented).Rental
				got = &m
			}, func(_, text string) { t.Error(text) })
			r.machine("far.x", &c.says)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A landlord takes rentals back; nil cannot be reached.
type landlord func(ids []string, told func(id string, err error))

func (l landlord) Reaches(string) bool    { return l != nil }
func (l landlord) KeepsFiles(string) bool { return false }

func (l landlord) Release(_ string, ids []string, told func(id string, err error)) { l(ids, told) }

func (l landlord) Rentals(string, func([]offer.Rental, error)) {}
