package runpod

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/rental/rentaltest"
)

// kept is a lab with a keeper of machines.
type kept struct {
	*lab
	*rental.Keeper
	dir string
}

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{lab: newLab(t), dir: t.TempDir()}
	k.open()
	return k
}

// open begins again from what is on the disk.
func (k *kept) open() {
	k.lab.Helper()
	keeper, err := rental.Open(rental.Config{Cloud: k.Client, Terms: Platform{}.Facts().Terms, Dir: k.dir, Lineage: "abc", Now: k.lab.Now, Key: func() (string, error) { return key, nil },
		Check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil }})
	if err != nil {
		k.Fatal(err)
	}
	k.Keeper = keeper
}

// turns turns for a time, every ten seconds.
func (k *kept) turns(d time.Duration) (t rental.Turned) {
	k.lab.Helper()
	for end := k.lab.Now().Add(d); k.lab.Now().Before(end); k.lab.Clock.Advance(10 * time.Second) {
		var err error
		if t, err = k.Turn(k.Context()); err != nil {
			t.Errs = append(t.Errs, err)
		}
	}
	return t
}

func (k *kept) wants() string {
	k.lab.Helper()
	w := r4090
	w.MostUSDPerHour = decimal.RequireFromString("0.80")
	token, err := k.Keeper.Rent(w)
	if err != nil {
		k.Fatal(err)
	}
	return token
}

func (k *kept) find(token string) rental.Rental {
	k.lab.Helper()
	for _, r := range k.Rentals() {
		if r.Token == token {
			return r
		}
	}
	k.Fatalf("no rental %s", token)
	return rental.Rental{}
}

func (k *kept) is(token string, step rental.Step) {
	k.lab.Helper()
	if r := k.find(token); r.Step != step {
		k.Errorf("%s, not %s: %s", r.Step, step, r.Why)
	}
}

// settled fails unless all is gone, as many pods were made as said, and each cost what
// the cloud billed.
func (k *kept) settled(pods int) {
	k.lab.Helper()
	all := k.truth()
	if len(all) != pods {
		k.Errorf("%d pods, not %d", len(all), pods)
	}
	for _, a := range all {
		if !a.Gone {
			k.Errorf("pod %s is there", a.ID)
		}
		for _, r := range k.Rentals() {
			if r.ID != a.ID {
				continue
			}
			if usd, err := decimal.NewFromString(r.USD); err != nil || !usd.Round(6).Equal(a.USD.Round(6)) {
				k.Errorf("pod %s cost %s, and %q is on record", a.ID, a.USD, r.USD)
			}
		}
	}
}

func (k *kept) release(token string) {
	k.lab.Helper()
	if err := k.Keeper.Release(token, "its jobs are done"); err != nil {
		k.Fatal(err)
	}
}

// Whatever happens to the answer of a create, one pod is made, and its bill is the cloud's.
func TestOnePodForOneWant(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]sim.Fault{
		"nothing":                {},
		"no answer":              {{On: "create", Do: "lost"}},
		"500 after it worked":    {{On: "create", Do: "failed"}},
		"500, and a list behind": {{On: "create", Do: "failed"}, {On: "list", Do: "lag", For: sim.Duration(40 * time.Second), Times: 5}},
		"no list":                {{On: "list", Do: "no_list", Times: 5}},
		"a page of HTML":         {{On: "list", Do: "status", Times: 3}, {On: "terminate", Do: "status"}},
		"429":                    {{On: "create", Do: "too_often", Times: 2}, {On: "terminate", Do: "too_often"}},
		"no capacity":            {{On: "create", Do: "no_capacity", Times: 3}},
		"terminate is lost":      {{On: "terminate", Do: "lost"}},
		"terminate lingers":      {{On: "terminate", Do: "linger", For: sim.Duration(7 * time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKept(t)
			for _, f := range faults {
				k.Fault(f)
			}
			token := k.wants()
			k.turns(5 * time.Minute)
			k.is(token, rental.Ready)
			k.open()
			k.turns(time.Minute)
			k.release(token)
			k.turns(25 * time.Minute)
			k.is(token, rental.Gone)
			k.settled(1)
		})
	}
}

// A terminate that lingers is not gone, and is billed until it is.
func TestAPodThatLingers(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	token := k.wants()
	k.turns(2 * time.Minute)
	k.Fault(sim.Fault{On: "terminate", Do: "linger", For: sim.Duration(10 * time.Minute)})
	k.release(token)
	k.turns(5 * time.Minute)
	k.is(token, rental.Releasing)
	if m := k.machine(k.find(token).ID); !m.USDPerHour.IsPositive() {
		t.Errorf("%+v", m)
	}
	k.turns(20 * time.Minute)
	k.is(token, rental.Gone)
	k.settled(1)
}

// Pods that never become machines are given back, and another place is taken.
func TestBadBoots(t *testing.T) {
	t.Parallel()
	for do, why := range map[string]string{
		"stuck": "it did not boot in 15m0s", "error": "it did not boot: broken RunPod calls it an unrecoverable error", "exits": "it did not boot: stopped stopped, or its container ended", "no_port": "it did not boot in 15m0s",
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			k := newKept(t)
			k.Fault(sim.Fault{On: "boot", Do: do})
			first := k.wants()
			k.turns(20 * time.Minute)
			r := k.find(first)
			if r.Step != rental.Gone || r.Why != why || r.Next == "" {
				t.Fatalf("%+v", r)
			}
			k.is(r.Next, rental.Ready)
			if next := k.find(r.Next); next.Offer.Place == r.Offer.Place {
				t.Errorf("again in %s", next.Offer.Place)
			}
			k.release(r.Next)
			k.turns(20 * time.Minute)
			k.settled(2)
		})
	}
}

// A pod whose container ended or whose host failed is not taken for gone, and one that
// vanished is.
func TestWhatHappensToPods(t *testing.T) {
	t.Parallel()
	for what, step := range map[string]rental.Step{"exit": rental.Preempted, "error": rental.Preempted, "vanish": rental.Gone} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			k := newKept(t)
			token := k.wants()
			k.turns(2 * time.Minute)
			k.is(token, rental.Ready)
			k.Happen(sim.Event{Instance: sim.Name(k.find(token).ID), What: what})
			k.turns(time.Minute)
			k.is(token, step)
			k.release(token)
			k.turns(20 * time.Minute)
			k.settled(1)
		})
	}
}

// Two pods with one name: the first is ours, the other an orphan with its price. Pods
// of others are nobody's business.
func TestOrphansAndStrangers(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	token := k.wants()
	k.turns(2 * time.Minute)
	r := k.find(token)
	for _, name := range []string{"muster-abc-" + token + "-1", "muster-xyz-1", "mine"} {
		o := order
		o.Label = name
		if _, err := k.Client.Rent(t.Context(), k.offer(r4090), o); err != nil {
			t.Fatal(err)
		}
	}
	turned := k.turns(time.Minute)
	if len(turned.Orphans) != 1 || turned.Orphans[0].ID == r.ID || turned.Orphans[0].USDPerHour.StringFixed(4) != "0.6982" {
		t.Errorf("%+v", turned)
	}
	k.release(token)
	k.turns(5 * time.Minute)
	gone := 0
	for _, a := range k.truth() {
		if a.Gone {
			gone++
		}
	}
	if gone != 1 {
		t.Errorf("%d pods are gone", gone)
	}
}

// Without credit pods are terminated with their volumes: the jobs' machine is gone, and
// the bill is known.
func TestCreditThatEnds(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	token := k.wants()
	k.turns(2 * time.Minute)
	k.lab.Clock.Do(func() {
		k.lab.Accounts.Find("key", rentaltest.Start).Account.Credit = decimal.RequireFromString("0.05")
	})
	k.turns(30 * time.Minute)
	k.is(token, rental.Gone)
	k.settled(1)
}

// Records hold no key.
func TestRecordsHoldNoKey(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Client = k.client("modern", settings{})
	k.open()
	token := k.wants()
	k.turns(2 * time.Minute)
	k.is(token, rental.Ready)
	text, err := json.Marshal(k.Rentals())
	if err != nil || strings.Contains(string(text), "modern") {
		t.Errorf("%s %v", text, err)
	}
}

// Where every place refuses, the last answer is told: it may be the fault of the request.
func TestEveryPlaceRefuses(t *testing.T) {
	t.Parallel()
	for do, says := range map[string]string{"no_capacity": "There are no longer any instances available", "no_pool": "the API key may not create pods, or the account may not use this GPU"} {
		k := newKept(t)
		k.Fault(sim.Fault{On: "create", Do: do, Times: -1})
		token := k.wants()
		turned := k.turns(time.Minute)
		if err := errors.Join(turned.Errs...); err == nil || !strings.Contains(err.Error(), "each of the offers that fit was refused a moment ago") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", do, err)
		}
		places := map[string]bool{}
		for _, q := range *k.seen {
			for _, at := range []string{"EU-RO-1", "US-TX-3"} {
				if strings.Contains(q, `"dataCenterIds":["`+at+`"]`) {
					places[at] = true
				}
			}
		}
		if len(places) != 2 {
			t.Errorf("%s: only %v was asked", do, places)
		}
		k.is(token, rental.Planned)
	}
}
