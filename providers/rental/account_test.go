package rental_test

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// asked is the answer to a call. On a busy machine the cloud's clock is slow for what it is
// asked, and it wants to be asked later.
func (n *town) asked(call func() error) error {
	for {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "wants to be asked later") {
			return err
		}
		n.clock.Advance(10 * time.Second)
	}
}

// refuses fails unless every call that looks at machines says that another account rents
// them, in words that name both accounts.
func (n *town) refuses(id, says string) {
	n.Helper()
	pools := n.asked(func() error { _, err := n.provider.Pools(n.Context(), n.backend.Name); return err })
	list := n.asked(func() error { _, err := n.provider.Rentals(n.Context(), n.backend.Name); return err })
	release := n.asked(func() error {
		_, err := n.provider.Release(n.Context(), n.backend.Name, []string{id})
		return err
	})
	for call, err := range map[string]error{"pools": pools, "rentals": list, "release": release} {
		if err == nil || !strings.Contains(err.Error(), says) {
			n.Errorf("%s: %v", call, err)
		}
	}
}

// A key of another account sees no machine: none is taken for gone, given back or rented,
// and jobs wait, until a key of the account is there again. Another key of the same
// account is as good.
func TestAKeyOfAnotherAccount(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	done := n.job("a", "echo '{}' > a.json")
	n.submit(done)
	id := n.until("a result", all(offer.Completed, done))[done.Token].Rental.ID

	n.key = "hers"
	n.begin()
	n.refuses(id, "belongs to account 5004, and account 5001 rented machine "+id)
	late := n.job("b", "echo '{}' > b.json")
	n.submit(late)
	waitFor(t, "the job to say why it waits", func() bool {
		seen, err := n.provider.Find(t.Context(), n.backend.Name, []string{late.Token})
		return err == nil && strings.Contains(seen[0].Reason, "belongs to account 5004")
	})
	n.clock.Advance(time.Hour)
	n.refuses(id, "belongs to account 5004")
	if all := n.truth(); len(all) != 1 || all[0].Gone {
		t.Errorf("%+v", all)
	}

	n.key = "another"
	n.begin()
	n.until("the job that waited", all(offer.Completed, late))
	if err := n.asked(func() error {
		out, err := n.provider.Release(t.Context(), n.backend.Name, []string{id})
		if err == nil && out[0].Err != nil {
			return out[0].Err
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if all := n.truth(); len(all) != 1 || !all[0].Gone {
		t.Errorf("%+v", all)
	}
	n.key = "hers" // nothing is rented any more: a campaign may move to another account
	n.begin()
	if err := n.asked(func() error { _, err := n.provider.Pools(t.Context(), n.backend.Name); return err }); err != nil {
		t.Error(err)
	}
}

// Where muster's own records are lost, the campaign's state says whose machines it has.
func TestAKeyOfAnotherAccountWithoutRecords(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	m := *n.until("a result", all(offer.Completed, j))[j.Token].Rental
	if m.Account.ID != "5001" || m.Account.Key == "" {
		t.Fatalf("%+v", m)
	}
	n.provider.Close()
	if err := os.RemoveAll(filepath.Join(n.backend.Dir, ".muster")); err != nil {
		t.Fatal(err)
	}
	n.backend.Rented, n.key = []offer.Rental{m}, "hers"
	n.begin()
	n.refuses(m.ID, "belongs to account 5004, and account 5001 rented machine "+m.ID)
	again := n.job("b", "echo '{}' > b.json")
	n.submit(again)
	waitFor(t, "the job to say why it waits", func() bool {
		seen, err := n.provider.Find(t.Context(), n.backend.Name, []string{again.Token})
		return err == nil && strings.Contains(seen[0].Reason, "belongs to account 5004")
	})
	if all := n.truth(); len(all) != 1 || all[0].Gone {
		t.Errorf("%+v", all)
	}
	n.key = "key"
	n.begin()
	var list []offer.Rental
	if err := n.asked(func() (err error) { list, err = n.provider.Rentals(t.Context(), n.backend.Name); return err }); err != nil || len(list) != 1 || !list[0].Orphan {
		t.Errorf("%+v %v", list, err)
	}
}

// A nameless cloud does not say whose account a key is.
type nameless struct {
	Cloud
	key string
}

func (c nameless) Account(context.Context) (offer.Account, error) {
	return offer.Account{Key: hex.EncodeToString([]byte(c.key))}, nil
}

// Where the cloud does not name accounts, another key is trusted once it sees a machine
// of the key before, and no sooner.
func TestAnotherKeyWhereAccountsHaveNoNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turn := func(key string) error {
		w.cloud.Cloud = nameless{w.client(key), key}
		_, err := w.Turn(t.Context())
		return err
	}
	first := w.wants()
	for range 30 {
		if err := turn("key"); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(10 * time.Second)
	}
	w.are("ready")
	if err := turn("hers"); err == nil || !strings.Contains(err.Error(), "68657273, in use now, does not see it") {
		t.Errorf("%v", err)
	}
	w.are("ready")
	second := w.wants()
	for range 30 {
		if err := turn("another"); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(10 * time.Second)
	}
	w.release(first)
	w.release(second)
	for range 30 {
		if err := turn("another"); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(10 * time.Second)
	}
	for _, r := range w.Rentals() {
		if r.Step != rental.Gone {
			t.Errorf("%+v", r)
		}
	}
}

// A watch tells of a machine from its order on, under one id until the cloud gives it
// another: what is paid for is known before the cloud answers.
func TestAWatchTellsOfMachinesFromTheirOrderOn(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	n.cloudOf = func(p platform) rental.Platform { return counted{p} }
	answer := make(chan struct{})
	n.cloud.before = func(call string) {
		if call == "rent" {
			<-answer
		}
	}
	checking := make(chan struct{}) // the check ends once it was told
	seen := sync.OnceFunc(func() { close(checking) })
	n.says = func(string) string {
		select {
		case <-checking:
		case <-t.Context().Done():
		}
		return report("gpu NVIDIA GeForce RTX 4090, 24564, 570.124.06")
	}
	n.begin()
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	var steps []string
	order := ""
	err := n.listen(func(b providers.Batch) bool {
		for _, m := range b.Rentals {
			steps = append(steps, string(m.Status))
			switch m.Status {
			case offer.RentalAsked:
				if order = m.ID; m.Account.ID != "5001" || m.Rate == "0" || m.Since.IsZero() || len(n.truth()) != 0 {
					t.Errorf("%+v", m)
				}
				close(answer)
			default:
				if m.Status == offer.RentalChecking {
					seen()
				}
				if m.Order != order || m.ID == order {
					t.Errorf("%+v, and its order was %s", m, order)
				}
			}
		}
		return len(steps) > 0 && steps[len(steps)-1] == "running"
	})
	if got := strings.Join(steps, " "); err != nil || !strings.HasPrefix(got, "asked booting") || !strings.Contains(got, "checking running") {
		t.Errorf("%s: %v", got, err)
	}
}
