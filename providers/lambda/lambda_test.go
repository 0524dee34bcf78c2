package lambda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simlambda "github.com/muster-run/muster/internal/cloudsim/lambda"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/rental/rentaltest"
)

// lab is a simulated Lambda with its rate limits: waiting moves its clock.
type lab struct {
	*rentaltest.Lab[*simlambda.Lambda]
	*Client
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Lab: rentaltest.New(t, "key account=me\nreader account=me scopes=read\nold expires=2026-01-01T00:00:00Z\nsoon expires=2026-11-23T10:00:00Z\nunpaid credit=0\n", simlambda.New)}
	l.Client = l.client("key")
	return l
}

func (l *lab) client(key string) *Client {
	return New(rental.Access{Service: "Lambda", URL: l.URL + "/api/v1", Key: key, Now: l.Now, Sleep: l.Sleep})
}

// No call of the API names an account, so that two keys are not known to be of one.
func TestAccount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	mine, err := l.Account(t.Context())
	other, fault := l.client("reader").Account(t.Context())
	if err != nil || fault != nil || mine.ID != "" || mine.Same(other) || !mine.Same(mine) || strings.Contains(mine.Key, "key") {
		t.Errorf("%+v %+v %v %v", mine, other, err, fault)
	}
}

// An actual is an instance as it really is.
type actual struct {
	ID, Label, Type, Region, Status string
	Gone                            bool
	USD                             decimal.Decimal
}

func (l *lab) truth() (all []actual, keys []string) {
	l.Helper()
	var a struct {
		Instances []actual
		Keys      []string `json:"ssh_keys"`
	}
	l.Truth(&a)
	return a.Instances, a.Keys
}

const public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y muster"

var (
	order = rental.Order{Label: "muster-1", Disk: 20e9, Key: public}
	a10   = rental.Want{GPUs: 1, Models: []string{"A10"}, Disk: 50e9, MostUSDPerHour: decimal.RequireFromString("1.50")}
)

func (l *lab) offer(w rental.Want) rental.Offer {
	l.Helper()
	offers, err := l.Offers(l.Context(), w)
	if err != nil || len(offers) == 0 {
		l.Fatalf("%v %v", offers, err)
	}
	return offers[0]
}

// Calls are paced so that none is refused, and launches more so.
func TestPace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for range 2 {
		if _, err := l.Rent(t.Context(), l.offer(a10), order); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if all, err := l.Machines(t.Context()); err != nil || len(all) != 2 {
			t.Fatalf("%d: %v", len(all), err)
		}
	}
	if _, keys := l.truth(); len(keys) != 1 {
		t.Errorf("the account's keys are %q", keys)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Machines(ctx); err == nil {
		t.Error("a call that was canceled is answered")
	}
}

// A question that comes too often, since others use the account, is asked again; an
// order is not.
func TestTooOften(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Fault(sim.Fault{On: "list", Do: "too_often", Times: 2})
	if _, err := l.Machines(t.Context()); err != nil {
		t.Error(err)
	}
	l.Fault(sim.Fault{On: "list", Do: "too_often", Times: 3})
	if _, err := l.Machines(t.Context()); !errors.Is(err, rental.ErrLater) {
		t.Errorf("%v", err)
	}
	l.Fault(sim.Fault{On: "launch", Do: "too_often"})
	if _, err := l.Rent(t.Context(), l.offer(a10), order); !errors.Is(err, rental.ErrLater) {
		t.Errorf("%v", err)
	}
	if _, err := l.Rent(t.Context(), l.offer(a10), order); err != nil {
		t.Error(err)
	}
}

// Both generations of the API are understood.
func TestMachines(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"2025", "2026"} {
		l := newLab(t)
		l.Happen(sim.Event{What: "api", Value: api})
		id, err := l.Rent(t.Context(), l.offer(a10), order)
		if err != nil {
			t.Fatal(err)
		}
		is := func(status rental.Status, host string) {
			t.Helper()
			all, err := l.Machines(t.Context())
			if err != nil || len(all) != 1 || all[0].ID != id || all[0].Label != "muster-1" || all[0].Status != status || all[0].Host != host || all[0].USDPerHour.String() != "1.29" {
				t.Errorf("%s: %+v %v, not %s at %q", api, all, err, status, host)
			}
		}
		is(rental.Booting, "")
		l.Clock.Advance(3 * time.Minute)
		is(rental.Running, "192.0.2.10")
		l.Happen(sim.Event{What: "unhealthy", Instance: sim.Name(id)})
		is(rental.Away, "")
		l.Happen(sim.Event{What: "healthy", Instance: sim.Name(id)})
		is(rental.Running, "192.0.2.10")
		l.Happen(sim.Event{What: "preempt", Instance: sim.Name(id)})
		is(rental.Broken, "")
		l.Clock.Advance(time.Minute)
		if all, err := l.Machines(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%+v %v", all, err)
		}
		if err := l.Release(t.Context(), id); err != nil { // it is gone
			t.Error(err)
		}
	}
}

func TestKeysThatMayNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offer := l.offer(a10)
	for key, says := range map[string]string{"": "does not know this API key", "wrong": "does not know this API key", "old": "does not know this API key", "unpaid": "account is not active"} {
		c := l.client(key)
		for _, err := range []error{rentaltest.Err(c.Offers(t.Context(), a10)), rentaltest.Err(c.Machines(t.Context())), c.Release(t.Context(), "1"), rentaltest.Err(c.Rent(t.Context(), offer, order))} {
			if rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), says) || key != "" && strings.Contains(err.Error(), key) {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
	if _, err := l.Rent(t.Context(), offer, order); err != nil { // its key is there for the next
		t.Fatal(err)
	}
	c := l.client("reader")
	if _, err := c.Machines(t.Context()); err != nil {
		t.Error(err)
	}
	var refused *rental.Refused
	if _, err := c.Rent(t.Context(), offer, order); !errors.As(err, &refused) || !strings.Contains(err.Error(), "may not do this") {
		t.Errorf("%v", err)
	}
	l.Fault(sim.Fault{On: "launch", Do: "invalid_address"})
	if _, err := l.Rent(t.Context(), offer, order); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no valid billing address") {
		t.Errorf("%v", err)
	}
}

// What a launch may answer, and whether there may be a machine.
func TestRentAnswers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offer := l.offer(a10)
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	lost := func(err error) bool {
		var r *rental.Refused
		return !errors.Is(err, rental.ErrTaken) && !errors.Is(err, rental.ErrLater) && !errors.As(err, &r) && rentaltest.Class(err) == providers.Unreachable
	}
	refused := func(err error) bool { var r *rental.Refused; return errors.As(err, &r) }
	for do, fits := range map[string]func(error) bool{"no_capacity": is(rental.ErrTaken), "too_often": is(rental.ErrLater), "lost": lost, "drop": lost, "failed": lost, "status": lost, "quota": refused} {
		l.Fault(sim.Fault{On: "launch", Do: do})
		if id, err := l.Rent(t.Context(), offer, order); id != "" || err == nil || !fits(err) {
			t.Errorf("%s: %q %v", do, id, err)
		}
	}
	l.Fault(sim.Fault{On: "add_ssh_key", Do: "lost"})
	other := order
	other.Key = strings.Replace(public, "IKlS", "IKlT", 1)
	if _, err := l.Rent(t.Context(), offer, other); !errors.Is(err, rental.ErrLater) {
		t.Errorf("nothing was ordered: %v", err)
	}
	long := order
	long.Label = strings.Repeat("x", 65)
	if _, err := l.Rent(t.Context(), offer, long); !refused(err) || !strings.Contains(err.Error(), "64 characters") {
		t.Errorf("%v", err)
	}
	if _, err := l.Rent(t.Context(), rental.Offer{ID: "gpu_1x_a10"}, order); !refused(err) {
		t.Errorf("%v", err)
	}
	if all, keys := l.truth(); len(all) != 2 || len(keys) != 2 { // lost and failed
		t.Errorf("%+v, keys %q", all, keys)
	}
}

// What is no answer of the API is not taken for one.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	web := rentaltest.NewMute(t)
	c := New(rental.Access{Service: "Lambda", URL: web.URL, Key: "secret", Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }})
	all := func() map[string]error {
		return map[string]error{
			"offers": rentaltest.Err(c.Offers(t.Context(), a10)), "list": rentaltest.Err(c.Machines(t.Context())), "release": c.Release(t.Context(), "1"), "rent": rentaltest.Err(c.Rent(t.Context(), rental.Offer{ID: "a/b"}, order)),
		}
	}
	web.Unreachable(t, all, `200 {}`, `200 {"data":null}`, `200 {"data":7}`, "200 <html>", "200 ", "502 <html>", `500 {"error":{"code":"global/unknown"}}`, `503 {"data":[]}`)
	web.Later(t, all, "slow down", "<html>", `{"error":{"code":"x"}}`)
	web.Status, web.Body = 200, `{"data":{"instance_ids":[],"terminated_instances":[]}}`
	if err := c.Release(t.Context(), "1"); rentaltest.Class(err) != providers.Unreachable {
		t.Errorf("%v", err)
	}
	web.Gone(t, all, "/instance")
}

// A key that two processes add at once is there once.
func TestKeyAddedTwice(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Fault(sim.Fault{On: "add_ssh_key", Do: "lost"})
	if _, err := l.key(t.Context(), public); rentaltest.Class(err) != providers.Unreachable {
		t.Errorf("%v", err)
	}
	name, err := l.key(t.Context(), strings.Replace(public, " muster", " renamed", 1))
	if _, keys := l.truth(); err != nil || len(keys) != 1 || keys[0] != name {
		t.Errorf("%q, keys %q: %v", name, keys, err)
	}
	if _, err := l.key(t.Context(), "nonsense"); err == nil || !strings.Contains(err.Error(), "Invalid SSH public key") {
		t.Errorf("%v", err)
	}
}

// A keeper leads machines at the lab.
type keeper struct {
	*lab
	*rental.Keeper
}

func (l *lab) keeper() *keeper {
	l.Helper()
	k, err := rental.Open(rental.Config{Cloud: l.Client, Terms: Platform{}.Facts().Terms, Dir: l.TempDir(), Lineage: "abc", Now: l.Now, Check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil },
		Key: func() (string, error) { return public, nil }})
	if err != nil {
		l.Fatal(err)
	}
	return &keeper{l, k}
}

// until turns, each ten seconds, until all rentals have come to a step.
func (k *keeper) until(steps ...rental.Step) []rental.Rental {
	k.Helper()
	var last error
	for end := k.lab.Now().Add(2 * time.Hour); k.lab.Now().Before(end); k.lab.Clock.Advance(10 * time.Second) {
		turned, err := k.Turn(k.Context())
		if len(turned.Orphans) > 0 {
			k.Fatalf("orphans %+v", turned.Orphans)
		}
		last = errors.Join(append(turned.Errs, err)...)
		var got []rental.Step
		for _, r := range k.Rentals() {
			got = append(got, r.Step)
		}
		if fmt.Sprint(got) == fmt.Sprint(steps) {
			return k.Rentals()
		}
	}
	k.Fatalf("%+v\n%v", k.Rentals(), last)
	return nil
}

func (k *keeper) rent() string {
	k.Helper()
	token, err := k.Rent(a10)
	if err != nil {
		k.Fatal(err)
	}
	return token
}

func (k *keeper) release(token string) {
	k.Helper()
	if err := k.Release(token, "its jobs are done"); err != nil {
		k.Fatal(err)
	}
}

// A machine is rented once, billed from when it runs until it is gone, and muster
// counts Lambda's bill, to the minute.
func TestLife(t *testing.T) {
	t.Parallel()
	for fault, machines := range map[sim.Fault]int{
		{}:                                   1,
		{On: "launch", Do: "lost"}:           1,
		{On: "launch", Do: "failed"}:         1,
		{On: "launch", Do: "too_often"}:      1,
		{On: "launch", Do: "no_capacity"}:    1,
		{On: "list", Do: "status", Times: 9}: 1,
		{On: "list", Do: "lag", For: sim.Duration(time.Minute), Times: 8}: 1,
		{On: "boot", Do: "unhealthy"}:                                     2,
		{On: "boot", Do: "boots_forever"}:                                 2,
	} {
		l := newLab(t)
		k := l.keeper()
		if fault.Do != "" {
			l.Fault(fault)
		}
		k.rent()
		steps := []rental.Step{rental.Ready}
		var rentals []rental.Rental
		if machines == 2 {
			for range 400 { // the order of the two is that of their tokens
				if _, err := k.Turn(t.Context()); err != nil {
					t.Fatal(err)
				}
				l.Clock.Advance(10 * time.Second)
			}
			rentals = k.Rentals()
		} else {
			rentals = k.until(steps...)
		}
		for _, r := range rentals {
			if r.Step == rental.Ready {
				k.release(r.Token)
			}
		}
		var over []rental.Step
		for range machines {
			over = append(over, rental.Gone)
		}
		rentals = k.until(over...)
		all, _ := l.truth()
		if len(all) != machines {
			t.Errorf("%+v: %+v", fault, all)
		}
		for _, r := range rentals {
			for _, a := range all {
				counted := r.Offer.USDPerHour.Mul(decimal.NewFromFloat(r.Ended.Sub(r.Since).Hours()))
				if a.ID == r.ID && (!a.Gone || !r.Bad && counted.Sub(a.USD).Abs().GreaterThan(decimal.RequireFromString("0.03"))) {
					t.Errorf("%+v: %+v, and muster counts $%s from %s", fault, a, counted, r.Since)
				}
			}
		}
	}
}

// Capacity that the catalogue shows may be gone: the other region is tried.
func TestVanishedCapacity(t *testing.T) {
	// Requirement: SPT-12
	t.Parallel()
	l := newLab(t)
	k := l.keeper()
	if _, err := l.Offers(t.Context(), a10); err != nil {
		t.Fatal(err)
	}
	l.Happen(sim.Event{What: "capacity", Machine: "gpu_1x_a10/us-east-1", Value: "0"})
	began := l.Now()
	k.rent()
	if r := k.until(rental.Boots)[0]; r.Asked.Sub(began) > 20*time.Second { // the catalogue is renewed each 30 s
		t.Errorf("it was rented after %s", r.Asked.Sub(began))
	}
	if all, _ := l.truth(); len(all) != 1 || all[0].Region != "us-west-1" {
		t.Errorf("%+v", all)
	}
}

// A terminate that hangs, is refused, or is acknowledged without effect for a while is
// asked again once a minute, and the machine counts as billed until it is gone.
func TestTerminate(t *testing.T) {
	t.Parallel()
	for _, fault := range []sim.Fault{
		{On: "terminate", Do: "linger", For: sim.Duration(20 * time.Minute)},
		{On: "terminate", Do: "lost"},
		{On: "terminate", Do: "drop", Times: 3},
		{On: "terminate", Do: "status", Times: 2},
	} {
		l := newLab(t)
		k := l.keeper()
		token := k.rent()
		k.until(rental.Ready)
		l.Fault(fault)
		k.release(token)
		asked := l.Now()
		r := k.until(rental.Gone)[0]
		if fault.Do == "linger" && r.Ended.Sub(asked) < 20*time.Minute {
			t.Errorf("%+v: gone after %s", fault, r.Ended.Sub(asked))
		}
		if all, _ := l.truth(); len(all) != 1 || !all[0].Gone {
			t.Errorf("%+v: %+v", fault, all)
		}
	}
	l := newLab(t)
	k := l.keeper()
	token := k.rent()
	k.until(rental.Boots)
	l.Fault(sim.Fault{On: "terminate", Do: "refused"})
	k.release(token)
	k.until(rental.Gone)
}

// Other people's machines in the account are nobody's here.
func TestStrangers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, err := l.Rent(t.Context(), l.offer(a10), rental.Order{Label: "thesis", Key: public}); err != nil {
		t.Fatal(err)
	}
	k := l.keeper()
	token := k.rent()
	k.until(rental.Ready)
	k.release(token)
	k.until(rental.Gone)
	if all, _ := l.truth(); len(all) != 2 || all[0].Gone || all[0].Label != "thesis" {
		t.Errorf("%+v", all)
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
