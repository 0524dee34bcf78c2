package rental_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/rental"
)

func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.wants()
	w.are("planned")
	if t := w.turns(10 * time.Second); len(t.Errs) > 0 {
		w.Fatal(t.Errs)
	}
	w.are("booting")
	w.turns(2 * time.Minute)
	w.are("ready")
	r := w.Rentals()[0]
	if r.Offer.Machine != "41002" || r.Machine.User != "root" || r.Machine.Host != "127.0.0.1" || r.Machine.Port == 0 || !r.Since.Equal(r.Asked) || !strings.HasPrefix(r.Machine.Label, "muster-abc-"+token) {
		t.Errorf("%+v", r)
	}
	w.clock.Advance(3 * time.Hour)
	w.release(token)
	w.are("releasing")
	w.cloud.before = func(call string) {
		if r := w.Rentals()[0]; call == "bill" && w.now().Sub(r.Ended) < time.Minute {
			t.Errorf("the bill is asked for %s after the end", w.now().Sub(r.Ended))
		}
	}
	w.turns(3 * time.Minute)
	w.settled(1)
	if w.cloud.calls["release"] != 1 || w.cloud.calls["rent"] != 1 {
		t.Errorf("%v", w.cloud.calls)
	}
	w.release(token) // over, and stays so
	w.are("gone")
}

// Whatever goes wrong once, one machine is rented, and nothing stays.
func TestWhatGoesWrong(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct {
		machines int    // rented in all
		steps    string // after 20 minutes
	}{
		`{"on":"search","do":"status"}`:                                              {1, "ready"},
		`{"on":"search","do":"too_often"}`:                                           {1, "ready"},
		`{"on":"create","do":"drop"}`:                                                {1, "ready"},
		`{"on":"create","do":"lost"}`:                                                {1, "ready"},
		`{"on":"create","do":"failed"}`:                                              {1, "ready"},
		`{"on":"create","do":"status","code":503}`:                                   {1, "ready"},
		`{"on":"create","do":"too_often"}`:                                           {1, "ready"},
		`{"on":"create","do":"gone_404"}`:                                            {1, "ready"},
		`{"on":"create","do":"gone_410","times":3}`:                                  {1, "ready"},
		`{"on":"create","do":"lost"},{"on":"list","do":"lag","for":"60s","times":9}`: {1, "ready"},
		`{"on":"create","do":"lost"},{"on":"list","do":"not_success","times":9}`:     {1, "ready"},
		`{"on":"create","do":"lost"},{"on":"list","do":"status","times":9}`:          {1, "ready"},
		`{"on":"list","do":"drop","times":9}`:                                        {1, "ready"},
		`{"on":"boot","do":"loading_forever"}`:                                       {2, "gone, ready"},
		`{"on":"boot","do":"oci"}`:                                                   {2, "gone, ready"},
		`{"on":"boot","do":"unknown"}`:                                               {2, "gone, ready"},
		`{"on":"boot","do":"oci","times":-1}`:                                        {3, "gone, gone, gone"},
		`{"on":"destroy","do":"linger","for":"90s"}`:                                 {1, "ready"},
		`{"on":"destroy","do":"lost"}`:                                               {1, "ready"},
		`{"on":"destroy","do":"failed"}`:                                             {1, "ready"},
		`{"on":"destroy","do":"drop","times":2}`:                                     {1, "ready"},
		`{"on":"destroy","do":"too_often"}`:                                          {1, "ready"},
		`{"on":"charges","do":"status","times":3}`:                                   {1, "ready"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for f := range strings.SplitSeq(fault, "},") {
				w.fault(strings.TrimSuffix(f, "}") + "}")
			}
			w.wants()
			w.turns(20 * time.Minute)
			w.are(want.steps)
			var since []time.Duration
			last := time.Time{}
			w.cloud.before = func(call string) {
				if call == "release" {
					since = append(since, w.now().Sub(last))
					last = w.now()
				}
			}
			for _, r := range w.Rentals() {
				w.release(r.Token)
			}
			w.turns(10 * time.Minute)
			w.settled(want.machines)
			for _, d := range since {
				if d < time.Minute {
					t.Errorf("a release was asked for again after %s", d)
				}
			}
		})
	}
}

// The machine of muster sleeps between a list and what muster makes of it: a machine that was
// booting is not given up, and one that the list did not show yet is not rented again.
func TestSleepAfterAList(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]string{
		"booting":       nil,
		"not shown yet": {`{"on":"create","do":"lost"}`, `{"on":"list","do":"lag","for":"20s","times":9}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, f := range faults {
				w.fault(f)
			}
			w.wants()
			w.turns(10 * time.Second)
			w.cloud.slept = func(call string) {
				if call == "list" {
					w.cloud.slept = nil
					w.clock.Advance(8 * time.Hour)
				}
			}
			w.turns(time.Minute) // all of it asleep
			w.turns(5 * time.Minute)
			w.are("ready")
			if w.cloud.calls["rent"] != 1 {
				t.Errorf("%v", w.cloud.calls)
			}
		})
	}
}

// The machine of muster sleeps before its order goes out: the machine that is made hours later
// has all its time to boot.
func TestSleepBeforeAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cloud.before = func(call string) {
		if call == "rent" {
			w.clock.Advance(8 * time.Hour)
		}
	}
	w.wants()
	w.turns(time.Minute) // all of it asleep
	w.turns(5 * time.Minute)
	w.are("ready")
}

// A crash before or after any call to the cloud: what is on the disk and the list are
// enough to go on.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	life := func(w *world, token string) {
		w.turns(3 * time.Minute)
		w.release(token)
		w.turns(5 * time.Minute)
	}
	whole := newWorld(t)
	life(whole, whole.wants())
	if whole.cloud.n < 10 {
		t.Fatalf("%d calls", whole.cloud.n)
	}
	step := 1
	if testing.Short() {
		step = 4 // nothing runs side by side here that could race
	}
	for n := 1; n <= whole.cloud.n; n += step {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			w.cloud.crash, w.cloud.after = n, after
			token := w.wants()
			func() {
				defer func() {
					if what := recover(); what != nil && what != (crashed{}) {
						panic(what)
					}
				}()
				life(w, token)
			}()
			w.open()
			w.turns(5 * time.Minute)
			w.release(token)
			w.turns(5 * time.Minute)
			if t.Failed() {
				t.Fatalf("call %d, after %t", n, after)
			}
			w.settled(1)
		}
	}
}

// Killed while it asks for a release: it does not ask again at once.
func TestKilledWhileItReleases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(`{"on":"destroy","do":"linger","for":"90s"}`)
	token := w.wants()
	w.turns(2 * time.Minute)
	w.release(token)
	var asked []time.Time
	w.cloud.before = func(call string) {
		if call == "release" {
			asked = append(asked, w.now())
			if len(asked) == 1 {
				panic(crashed{})
			}
		}
	}
	func() {
		defer func() {
			if what := recover(); what != (crashed{}) {
				t.Errorf("%v", what)
			}
		}()
		w.turns(time.Minute)
	}()
	w.open()
	w.turns(5 * time.Minute)
	w.settled(1)
	for n := 1; n < len(asked); n++ {
		if asked[n].Sub(asked[n-1]) < time.Minute {
			t.Errorf("asked at %s", asked)
		}
	}
}

// Killed between giving a machine up and wanting another: the other is wanted.
func TestKilledBeforeTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(`{"on":"boot","do":"oci"}`)
	w.wants()
	w.turns(2 * time.Minute)
	w.release(w.second().Token)
	w.turns(5 * time.Minute)
	w.are("gone, gone")
	if err := os.Remove(filepath.Join(w.dir, w.second().Token+".json")); err != nil {
		t.Fatal(err)
	}
	w.open()
	if n := len(w.Rentals()); n != 1 {
		t.Fatalf("%d rentals", n)
	}
	w.turns(3 * time.Minute)
	w.are("gone, ready")
}

// second is the rental of the second box.
func (w *world) second() (second rental.Rental) {
	for _, r := range w.Rentals() {
		if r.Box == 2 {
			second = r
		}
	}
	return second
}

func TestUnwantedBeforeItIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(w.wants())
	w.are("failed")
	w.fault(`{"on":"create","do":"lost"}`)
	token := w.wants()
	w.turns(10 * time.Second)
	w.release(token)
	w.turns(5 * time.Minute)
	w.settled(1)
	w.fault(`{"on":"create","do":"drop"}`)
	token = w.wants()
	w.turns(10 * time.Second)
	w.release(token)
	w.turns(5 * time.Minute)
	w.settled(1)
	if err := w.Release("another", "x"); err == nil {
		t.Error("a rental that there is not is released")
	}
}

func TestMachinesThatAreUnfit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	w.check = func(_ context.Context, m rental.Machine, o rental.Offer) (f rental.Found, err error) {
		if n++; n == 1 {
			return f, &rental.Unfit{Why: "it has another GPU"}
		}
		if o.Machine == "41001" {
			return f, errors.New("no answer")
		}
		return f, nil
	}
	w.wants()
	w.turns(40 * time.Minute)
	w.are("gone, gone, ready")
	hosts := map[string]bool{}
	for _, r := range w.Rentals() {
		hosts[r.Offer.Machine] = true
		if r.Box == 1 && r.Why != "it has another GPU" || r.Box == 2 && !strings.Contains(r.Why, "cannot be reached in 15m0s: no answer") {
			t.Errorf("%s", r.Why)
		}
	}
	if len(hosts) != 3 {
		t.Errorf("a host that was avoided is rented again: %v", hosts)
	}
}

// Where every host that has an offer within the limits is avoided, whoever waits is told.
func TestEveryHostIsAvoided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.check = func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) {
		return rental.Found{}, &rental.Unfit{Why: "it has another GPU"}
	}
	for range 3 { // three machines each
		w.wants()
		w.turns(20 * time.Minute)
	}
	w.wants()
	turned := w.turns(time.Minute)
	if err := errors.Join(turned.Errs...); err == nil || !strings.Contains(err.Error(), "of hosts that are avoided, since a machine of theirs was unfit") {
		t.Errorf("it says %v", err)
	}
}

// A price that rises between search and create: the machine is given up.
func TestPriceRises(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cloud.before = func(call string) {
		if call == "rent" && w.cloud.calls["rent"] == 1 {
			w.happen(`{"machine":41002,"what":"price","value":"7"}`)
		}
	}
	w.wants()
	w.turns(5 * time.Minute)
	w.are("gone, ready")
	for _, r := range w.Rentals() {
		if r.Box == 1 && !strings.Contains(r.Why, "and the limit is $0.7/h") {
			t.Errorf("%s", r.Why)
		}
	}
}

func TestNothingFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dear := want
	dear.MostUSDPerHour = decimal.RequireFromString("0.05")
	if _, err := w.Rent(dear); err != nil {
		t.Fatal(err)
	}
	if got := w.turns(10 * time.Second); len(got.Errs) != 1 || !strings.Contains(got.Errs[0].Error(), "fits within $0.05/h") {
		t.Errorf("%v", got)
	}
	w.settled0()
}

func (w *world) settled0() {
	w.Helper()
	if n := len(w.truth()); n != 0 {
		w.Errorf("%d machines were rented", n)
	}
}

// What the cloud refuses for good ends a rental: another offer would not help.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cloud.Cloud = w.client("broke")
	w.wants()
	w.turns(10 * time.Second)
	w.are("failed")
	if why := w.Rentals()[0].Why; !strings.Contains(why, "no credit") {
		t.Errorf("%s", why)
	}
	w.settled0()
}

// A cloud that refuses and leaves a machine all the same: it is released.
func TestLeftover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cloud.Cloud = leaving{w.cloud.Cloud}
	few := want
	few.MostBoxes = 1
	if _, err := w.Rent(few); err != nil {
		t.Fatal(err)
	}
	w.turns(5 * time.Minute)
	w.settled(1)
}

type leaving struct{ Cloud }

func (l leaving) Rent(ctx context.Context, o rental.Offer, r rental.Order) (string, error) {
	id, err := l.Cloud.Rent(ctx, o, r)
	if err != nil {
		return "", err
	}
	return "", &rental.Leftover{ID: id, Err: errors.New("the bid is too low")}
}

func TestPreempted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spot := want
	spot.Spot, spot.Bid = true, decimal.RequireFromString("0.35")
	token, err := w.Rent(spot)
	if err != nil {
		t.Fatal(err)
	}
	w.turns(2 * time.Minute)
	w.are("ready")
	id := w.Rentals()[0].ID
	w.happen(fmt.Sprintf(`{"instance":%s,"what":"outbid"}`, id))
	w.turns(time.Minute)
	w.are("preempted")
	w.happen(fmt.Sprintf(`{"instance":%s,"what":"rebid"}`, id))
	w.turns(time.Minute)
	w.are("ready")
	w.happen(`{"machine":` + w.Rentals()[0].Offer.Machine + `,"what":"offline"}`)
	w.turns(time.Minute)
	w.are("ready") // out of sight is not gone
	w.release(token)
	w.turns(5 * time.Minute)
	w.settled(1)
}

func TestEndedByTheCloud(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants()
	w.turns(2 * time.Minute)
	w.happen(fmt.Sprintf(`{"instance":%s,"what":"end"}`, w.Rentals()[0].ID))
	w.turns(time.Minute)
	w.are("preempted")
	w.clock.Advance(48 * time.Hour)
	w.turns(3 * time.Minute)
	w.settled(1)
	if why := w.Rentals()[0].Why; why != "the cloud ended it" {
		t.Errorf("%s", why)
	}
}

// Ours and unknown is an orphan; strangers' machines are not looked at.
func TestOrphansAndStrangers(t *testing.T) {
	// Requirement: TDN-12
	t.Parallel()
	w := newWorld(t)
	w.wants()
	w.turns(2 * time.Minute)
	cloud := w.client("key")
	offers, err := cloud.Offers(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	ours := w.Rentals()[0].Machine.Label
	if _, err := cloud.Rent(t.Context(), offers[0], rental.Order{Label: ours, Disk: 10e9, Image: "a"}); err != nil {
		t.Fatal(err)
	}
	offers, err = cloud.Offers(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	for n, label := range []string{"muster-other-x-1", "somebody's", ""} {
		if _, err := cloud.Rent(t.Context(), offers[0], rental.Order{Label: label, Disk: 10e9, Image: "a"}); err != nil {
			t.Fatal(n, err)
		}
		if offers, err = cloud.Offers(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	seen := w.turns(time.Minute)
	if len(seen.Orphans) != 1 || seen.Orphans[0].Label != ours || !seen.Orphans[0].USDPerHour.IsPositive() {
		t.Errorf("%+v", seen.Orphans)
	}
	w.are("ready")
	if err := os.RemoveAll(w.dir); err != nil { // the records are lost
		t.Fatal(err)
	}
	w.open()
	if seen := w.turns(10 * time.Second); len(seen.Orphans) != 2 || w.cloud.calls["release"] != 0 {
		t.Errorf("%+v %v", seen.Orphans, w.cloud.calls)
	}
}

// Without a list nothing is known, and nothing changes.
func TestNoList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants()
	w.turns(2 * time.Minute)
	w.cloud.Cloud = w.client("wrong")
	if _, err := w.Turn(t.Context()); err == nil || !strings.Contains(err.Error(), "does not know this API key") {
		t.Errorf("%v", err)
	}
	w.are("ready")
}

func TestBadRecords(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{"{": "unexpected end", `{"token":"b"}`: `it is about "b"`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := rental.Open(rental.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Clouds allow 64 characters in the name of a machine; a lineage has 32.
func TestLabelsAreShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.wants()
	w.turns(time.Minute)
	all := w.truth()
	if len(all) != 1 || all[0].Label != "muster-abc-"+token+"-1" || len(all[0].Label)+32-len("abc") > 64 {
		t.Errorf("%+v", all)
	}
}
