package paperspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simps "github.com/muster-run/muster/internal/cloudsim/paperspace"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/rental/rentaltest"
)

// lab is a simulated Paperspace with its rate limits: waiting moves its clock.
type lab struct {
	*rentaltest.Lab[*simps.Paperspace]
	*Client
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Lab: rentaltest.New(t, "key account=me\nreader account=me scopes=read\nold expires=2026-01-01T00:00:00Z\nsoon expires=2026-11-23T10:00:00Z\nother account=her\n", simps.New)}
	l.Client = l.client("key")
	return l
}

func (l *lab) client(key string) *Client {
	return New(Config{Access: rental.Access{Service: "Paperspace", URL: l.URL + "/v1", Key: key, Now: l.Now, Sleep: l.Sleep}, Timer: 24 * time.Hour})
}

// Two keys of an account are one, and those of two are not.
func TestAccount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	mine, err := l.Account(t.Context())
	again, e2 := l.client("reader").Account(t.Context())
	other, e3 := l.client("other").Account(t.Context())
	if errors.Join(err, e2, e3) != nil || mine.ID != "t5001" || !mine.Same(again) || mine.Key == again.Key || mine.Same(other) {
		t.Errorf("%+v %+v %+v %v", mine, again, other, errors.Join(err, e2, e3))
	}
}

// An actual is a machine as it really is.
type actual struct {
	ID, Label, Region, Status string
	Gone                      bool
	USD                       decimal.Decimal
	Mails                     bool `json:"mails_password"`
}

func (l *lab) truth() (all []actual, scripts []string) {
	l.Helper()
	var a struct {
		Instances []actual
		Scripts   []string `json:"startup_scripts"`
	}
	l.Truth(&a)
	return a.Instances, a.Scripts
}

var (
	order = rental.Order{Label: "muster-1", Disk: 20e9, Key: "ssh-ed25519 AAAAC3Nza it's"}
	a4000 = rental.Want{GPUs: 1, Models: []string{"A4000"}, Disk: 60e9, MostUSDPerHour: decimal.RequireFromString("1.00")}
)

func (l *lab) offer() rental.Offer {
	l.Helper()
	offers, err := l.Offers(l.Context(), a4000)
	if err != nil || len(offers) == 0 {
		l.Fatalf("%v %v", offers, err)
	}
	return offers[0]
}

func TestMachines(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id, err := l.Rent(t.Context(), l.offer(), order)
	if err != nil {
		t.Fatal(err)
	}
	is := func(status rental.Status, host, why string) {
		t.Helper()
		all, err := l.Machines(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != id || all[0].Label != "muster-1" || all[0].Status != status || all[0].Host != host || all[0].Why != why ||
			all[0].USDPerHour.StringFixed(4) != "0.7713" || all[0].Since.Sub(rentaltest.Start) > time.Minute {
			t.Errorf("%+v %v, not %s at %q: %q", all, err, status, host, why)
		}
	}
	changes := func(f func(context.Context, string) error) {
		t.Helper()
		for range 2 { // the second finds it on its way
			if err := f(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
	is(rental.Booting, "", "")
	l.Clock.Advance(3 * time.Minute)
	is(rental.Running, "192.0.2.20", "")
	changes(l.Stop)
	is(rental.Stopped, "", "")
	l.Clock.Advance(time.Minute)
	changes(l.Start)
	l.Clock.Advance(2 * time.Minute)
	is(rental.Running, "192.0.2.20", "")
	changes(l.Stop)
	l.Clock.Advance(time.Minute)
	l.Fault(sim.Fault{On: "start", Do: "no_capacity"})
	changes(l.Start)
	l.Clock.Advance(time.Minute)
	is(rental.Stopped, "", "start: Out of capacity")
	if all, scripts := l.truth(); all[0].Mails || len(scripts) != 1 {
		t.Errorf("%+v %q: a password is mailed, or scripts are many", all, scripts)
	}
	for range 3 {
		if err := l.Release(t.Context(), id); err != nil {
			t.Error(err)
		}
		l.Clock.Advance(time.Minute)
	}
	if all, err := l.Machines(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
}

// The service's own timer stops a machine, whatever becomes of muster; without it
// nothing does.
func TestTimer(t *testing.T) {
	// Requirement: CLK-04
	t.Parallel()
	for timer, want := range map[time.Duration]rental.Status{24 * time.Hour: rental.Stopped, 0: rental.Running} {
		l := newLab(t)
		l.timer = timer
		if _, err := l.Rent(t.Context(), l.offer(), order); err != nil {
			t.Fatal(err)
		}
		l.Clock.Advance(24 * time.Hour)
		if all, err := l.Machines(t.Context()); err != nil || len(all) != 1 || all[0].Status != rental.Running {
			t.Errorf("%s: %+v %v", timer, all, err)
		}
		l.Clock.Advance(time.Hour)
		if all, err := l.Machines(t.Context()); err != nil || len(all) != 1 || all[0].Status != want {
			t.Errorf("%s: %+v %v", timer, all, err)
		}
		if timer == 0 && !l.offer().Until.IsZero() {
			t.Error("an offer without a timer ends")
		}
	}
}

// A list is all of its pages, and none of them where one is missing.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"": `{"items":[{"id":"a"}],"hasMore":true,"nextPage":"x"}`, "x": `{"items":[{"id":"b"},{"id":"c","dtDeleted":"2026-11-01T00:00:00Z"}],"hasMore":false}`}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = w.Write([]byte(pages[q.URL.Query().Get("after")]))
	}))
	t.Cleanup(web.Close)
	c := New(Config{Access: rental.Access{Service: "Paperspace", URL: web.URL, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }}})
	if all, err := c.Machines(t.Context()); err != nil || len(all) != 2 || all[1].ID != "b" {
		t.Errorf("%v %v", all, err)
	}
	for _, last := range []string{`{"items":[],"hasMore":true}`, `{"items":[],"hasMore":true,"nextPage":"x"}`, `{"hasMore":false}`, `[]`, ``} {
		pages["x"] = last
		if all, err := c.Machines(t.Context()); rentaltest.Class(err) != providers.Unreachable || all != nil {
			t.Errorf("%s: %v %v", last, all, err)
		}
	}
}

func TestKeysThatMayNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offer := l.offer()
	for _, key := range []string{"", "wrong", "old"} {
		c := l.client(key)
		for _, err := range []error{rentaltest.Err(c.Offers(t.Context(), a4000)), rentaltest.Err(c.Machines(t.Context())), c.Release(t.Context(), "1"), c.Stop(t.Context(), "1"), rentaltest.Err(c.Rent(t.Context(), offer, order))} {
			if rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), "does not know this API key") || key != "" && strings.Contains(err.Error(), key+" ") {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
	if _, err := l.client("reader").Rent(t.Context(), offer, order); rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), "does not let this team do that") {
		t.Errorf("%v", err)
	}
	l.Fault(sim.Fault{On: "create", Do: "locked"})
	var refused *rental.Refused
	if _, err := l.Rent(t.Context(), offer, order); !errors.As(err, &refused) || !strings.Contains(err.Error(), "requires approval") {
		t.Errorf("%v", err)
	}
}

// What a create may answer, and whether there may be a machine.
func TestRentAnswers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offer := l.offer()
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	lost := func(err error) bool {
		var r *rental.Refused
		return !errors.Is(err, rental.ErrTaken) && !errors.Is(err, rental.ErrLater) && !errors.As(err, &r) && rentaltest.Class(err) == providers.Unreachable
	}
	refused := func(err error) bool { var r *rental.Refused; return errors.As(err, &r) }
	for _, c := range []struct {
		do   string
		fits func(error) bool
	}{{"too_often", is(rental.ErrLater)}, {"lost", lost}, {"drop", lost}, {"failed", lost}, {"status", lost}, {"no_capacity", is(rental.ErrTaken)}} {
		l.Fault(sim.Fault{On: "create", Do: c.do})
		if id, err := l.Rent(t.Context(), offer, order); id != "" || err == nil || !c.fits(err) {
			t.Errorf("%s: %q %v", c.do, id, err)
		}
	}
	if all, scripts := l.truth(); len(all) != 2 || len(scripts) != 1 { // lost and failed
		t.Errorf("%+v, scripts %q", all, scripts)
	}
	l.Fault(sim.Fault{On: "create_script", Do: "drop"})
	other := order
	other.Key = "ssh-ed25519 AAAAother"
	if _, err := l.Rent(t.Context(), offer, other); !errors.Is(err, rental.ErrLater) {
		t.Errorf("nothing was ordered: %v", err)
	}
	l.template = "none"
	offer.ID = "A4000/West Coast (CA1)"
	if _, err := l.Rent(t.Context(), offer, order); !refused(err) || !strings.Contains(err.Error(), "Template is not available") {
		t.Errorf("%v", err)
	}
	l.template = ""
	offer.ID = "V9/East Coast (NY2)"
	if _, err := l.Rent(t.Context(), offer, order); !refused(err) || !strings.Contains(err.Error(), "no Ubuntu template for V9") {
		t.Errorf("%v", err)
	}
}

// What is no answer of the API is not taken for one.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	web := rentaltest.NewMute(t)
	c := New(Config{Access: rental.Access{Service: "Paperspace", URL: web.URL, Key: "secret", Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }}, Template: "t"})
	all := func() map[string]error {
		return map[string]error{
			"offers": rentaltest.Err(c.Offers(t.Context(), a4000)), "list": rentaltest.Err(c.Machines(t.Context())), "release": c.Release(t.Context(), "1"), "stop": c.Stop(t.Context(), "1"), "rent": rentaltest.Err(c.Rent(t.Context(), rental.Offer{ID: "a/b"}, order)),
		}
	}
	web.Unreachable(t, all, `200 {}`, `200 7`, "200 <html>", "200 ", "502 <html>", `500 {"code":"INTERNAL_SERVER_ERROR"}`, "404 <html>", `408 {"code":"TIMEOUT"}`)
	web.Later(t, all, "slow down", `{"code":"TOO_MANY_REQUESTS","message":"x"}`)
	web.Gone(t, all, "/machine")
}

// A machine is rented once, whatever goes wrong, and given back.
func TestLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    sim.Fault
		machines int
	}{
		{sim.Fault{}, 1},
		{sim.Fault{On: "create", Do: "lost"}, 1},
		{sim.Fault{On: "create", Do: "no_capacity"}, 1}, // in another region
		{sim.Fault{On: "create", Do: "fails_later"}, 2},
		{sim.Fault{On: "create_script", Do: "lost"}, 1},
		{sim.Fault{On: "list", Do: "cut", Times: 9}, 1},
		{sim.Fault{On: "list", Do: "lag", For: sim.Duration(time.Minute), Times: 8}, 1},
		{sim.Fault{On: "boot", Do: "boots_forever"}, 2},
		{sim.Fault{On: "delete", Do: "linger", For: sim.Duration(20 * time.Minute)}, 1},
		{sim.Fault{On: "delete", Do: "lost"}, 1},
		{sim.Fault{On: "delete", Do: "status", Times: 2}, 1},
	} {
		l := newLab(t)
		if c.fault.Do != "" {
			l.Fault(c.fault)
		}
		k, err := rental.Open(rental.Config{Cloud: l.Client, Terms: Platform{}.Facts().Terms, Dir: t.TempDir(), Lineage: "abc", Now: l.Now, Check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil },
			Key: func() (string, error) { return order.Key, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Rent(a4000); err != nil {
			t.Fatal(err)
		}
		until := func(what string, done func([]rental.Rental) bool) []rental.Rental {
			t.Helper()
			var last error
			for end := l.Now().Add(2 * time.Hour); l.Now().Before(end); l.Clock.Advance(10 * time.Second) {
				turned, err := k.Turn(t.Context())
				last = errors.Join(append(turned.Errs, err)...)
				if len(turned.Orphans) > 0 {
					t.Fatalf("%+v: orphans %+v", c.fault, turned.Orphans)
				}
				if done(k.Rentals()) {
					return k.Rentals()
				}
			}
			t.Fatalf("%+v: no %s: %+v\n%v", c.fault, what, k.Rentals(), last)
			return nil
		}
		at := func(step rental.Step) func([]rental.Rental) bool {
			return func(all []rental.Rental) bool {
				for _, r := range all {
					if r.Step == step {
						return true
					}
				}
				return false
			}
		}
		for _, r := range until("ready machine", at(rental.Ready)) {
			if r.Step == rental.Ready {
				if err := k.Release(r.Token, "its jobs are done"); err != nil {
					t.Fatal(err)
				}
			} else if c.fault.Do == "fails_later" && !strings.Contains(r.Why, "Machine could not be provisioned") {
				t.Errorf("%s", r.Why)
			}
		}
		rentals := until("end", func(all []rental.Rental) bool {
			for _, r := range all {
				if !r.Over() {
					return false
				}
			}
			return true
		})
		all, _ := l.truth()
		if len(all) != c.machines || len(rentals) != c.machines {
			t.Errorf("%+v: %+v, %d rentals", c.fault, all, len(rentals))
		}
		for _, a := range all {
			if !a.Gone {
				t.Errorf("%+v: %+v", c.fault, a)
			}
		}
	}
}

// What a key must not be able to do to the startup script: it is quoted there.
func TestKeyIsQuoted(t *testing.T) {
	t.Parallel()
	var bodies []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			var b struct{ Script string }
			_ = json.NewDecoder(q.Body).Decode(&b)
			bodies = append(bodies, b.Script)
			fmt.Fprint(w, `{"id":"ss1"}`)
			return
		}
		fmt.Fprint(w, `{"items":[],"hasMore":false}`)
	}))
	t.Cleanup(web.Close)
	c := New(Config{Access: rental.Access{Service: "Paperspace", URL: web.URL, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }}})
	if id, err := c.script(t.Context(), "ssh-ed25519 AAAA $(reboot) 'x"); err != nil || id != "ss1" || len(bodies) != 1 || !strings.Contains(bodies[0], `echo 'ssh-ed25519 AAAA $(reboot) '`) {
		t.Errorf("%q %v\n%s", id, err, bodies)
	}
}

// TestKeyThatExpires: a key that worked, and is not taken any more, has a message of its
// own, which says that machines are billed on.
func TestKeyThatExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.client("soon")
	if _, err := c.Machines(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Clock.Advance(2 * time.Hour)
	_, err := c.Machines(t.Context())
	if text := fmt.Sprint(err); rentaltest.Class(err) != providers.Auth || !strings.Contains(text, "does not take this API key any more") || !strings.Contains(text, "billed on") || strings.Contains(text, "soon") {
		t.Error(err)
	}
}
