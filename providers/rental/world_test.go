package rental_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/vastai"
)

var start = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// A world is a simulated Vast.ai with its rate limits, and a keeper at it. Waiting
// moves the cloud's clock.
type world struct {
	*testing.T
	clock *sim.Clock
	url   string
	cloud *watched
	check rental.Check
	off   time.Duration // by how much the clock of the keeper differs from the cloud's
	dir   string
	*rental.Keeper
}

func newWorld(t *testing.T) *world {
	t.Helper()
	accounts, err := sim.NewAccounts("key account=me credit=25\nanother account=me\nbroke credit=0\nreader scopes=instance_read\nhers account=her credit=25\n")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, clock: sim.NewClock(start, 0), dir: t.TempDir(), check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil }}
	v := simvast.New(&sim.World{Clock: w.clock, Accounts: accounts, Machines: sim.NoMachines{}})
	web := httptest.NewServer(sim.NewServer(v.World, v))
	w.url = web.URL
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); v.Close() })
	w.cloud = &watched{Cloud: w.client("key"), calls: map[string]int{}}
	w.open()
	return w
}

func (w *world) client(key string) *vastai.Client {
	return vastai.New(rental.Access{Service: "Vast.ai", URL: w.url, Key: key, Now: w.now, Sleep: func(_ context.Context, d time.Duration) error { w.clock.Advance(d); return nil }})
}

func (w *world) now() (now time.Time) {
	w.clock.Do(func() { now = w.clock.Now() })
	return now
}

// open begins again from what is on the disk.
func (w *world) open() {
	w.Helper()
	k, err := rental.Open(rental.Config{Cloud: w.cloud, Terms: vastai.Platform{}.Facts().Terms, Dir: w.dir, Lineage: "abc", Now: func() time.Time { return w.now().Add(w.off) },
		Check: func(ctx context.Context, m rental.Machine, o rental.Offer) (rental.Found, error) {
			return w.check(ctx, m, o)
		}})
	if err != nil {
		w.Fatal(err)
	}
	w.Keeper = k
}

// api calls the cloud with a key, and fails unless it does what it is told.
func (w *world) api(method, path, body string) {
	w.Helper()
	q, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer key")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		w.Fatal(err)
	}
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); r.StatusCode != 200 {
		w.Fatalf("%s %s: %s", path, body, text)
	}
}

func (w *world) fault(body string)  { w.Helper(); w.api("POST", "/_sim/faults", body) }
func (w *world) happen(body string) { w.Helper(); w.api("POST", "/_sim/happen", body) }

// An actual is an instance as it really is.
type actual struct {
	ID    int
	Label string
	Gone  bool
	USD   decimal.Decimal

	Status string // of its container
}

func (w *world) truth() (all []actual) {
	w.Helper()
	r, err := http.Get(w.url + "/_sim/state")
	if err != nil {
		w.Fatal(err)
	}
	defer r.Body.Close()
	var a struct{ Cloud struct{ Instances []actual } }
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		w.Fatal(err)
	}
	return a.Cloud.Instances
}

// turns turns for a time, every ten seconds, and returns the result of the
// last turn.
func (w *world) turns(d time.Duration) (t rental.Turned) {
	w.Helper()
	for end := w.now().Add(d); w.now().Before(end); w.clock.Advance(10 * time.Second) {
		var err error
		if t, err = w.Turn(w.Context()); err != nil {
			t.Errs = append(t.Errs, err)
		}
	}
	return t
}

var want = rental.Want{GPUs: 1, Models: []string{"RTX 4090", "RTX 5090"}, Disk: 20e9, MostUSDPerHour: decimal.RequireFromString("0.70"), Reliability: 0.9, Image: "pytorch/pytorch"}

func (w *world) wants() string {
	w.Helper()
	token, err := w.Rent(want)
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// steps are the rentals in the order of their boxes: "2 gone, 1 ready".
func (w *world) steps() string {
	var out []string
	for box := 1; box < 10; box++ {
		for _, r := range w.Rentals() {
			if r.Box == box {
				out = append(out, string(r.Step))
			}
		}
	}
	return strings.Join(out, ", ")
}

func (w *world) are(steps string) {
	w.Helper()
	if got := w.steps(); got != steps {
		w.Errorf("%s, not %s", got, steps)
	}
}

func (w *world) release(token string) {
	w.Helper()
	if err := w.Release(token, "it is idle"); err != nil {
		w.Fatal(err)
	}
}

// settled fails unless everything is gone, as many machines were rented as said, and
// each rental cost what the cloud billed, to its last digit.
func (w *world) settled(machines int) {
	w.Helper()
	all := w.truth()
	if len(all) != machines {
		w.Errorf("%d machines were rented, not %d", len(all), machines)
	}
	bills := map[string]decimal.Decimal{}
	for _, a := range all {
		if !a.Gone {
			w.Errorf("machine %d is there", a.ID)
		}
		bills[fmt.Sprint(a.ID)] = a.USD.Round(3)
	}
	for _, r := range w.Rentals() {
		if !r.Over() {
			w.Errorf("rental %s is %s", r.Token, r.Step)
		}
		if r.ID == "" {
			continue
		}
		if usd, err := decimal.NewFromString(r.USD); err != nil || !usd.Equal(bills[r.ID]) {
			w.Errorf("machine %s cost %s, and %q is on record", r.ID, bills[r.ID], r.USD)
		}
	}
}

// A Cloud is one that tells what machines cost.
type Cloud interface {
	rental.Cloud
	rental.Biller
}

// watched counts calls of a cloud, and may crash before or after one.
type watched struct {
	Cloud
	mu     sync.Mutex
	calls  map[string]int
	n      int
	crash  int  // the call at which it crashes; 0 = none
	after  bool // after the call, and not before
	before func(call string)
	slept  func(call string) // once it is answered
}

type crashed struct{}

func (c *watched) do(call string, f func()) {
	c.mu.Lock()
	c.n++
	n := c.n
	c.calls[call]++
	c.mu.Unlock()
	if c.before != nil {
		c.before(call)
	}
	if n == c.crash && !c.after {
		panic(crashed{})
	}
	f()
	if n == c.crash {
		panic(crashed{})
	}
	if c.slept != nil {
		c.slept(call)
	}
}

func (c *watched) Offers(ctx context.Context, w rental.Want) (o []rental.Offer, err error) {
	c.do("offers", func() { o, err = c.Cloud.Offers(ctx, w) })
	return o, err
}
func (c *watched) Rent(ctx context.Context, o rental.Offer, r rental.Order) (id string, err error) {
	c.do("rent", func() { id, err = c.Cloud.Rent(ctx, o, r) })
	return id, err
}
func (c *watched) Machines(ctx context.Context) (m []rental.Machine, err error) {
	c.do("list", func() { m, err = c.Cloud.Machines(ctx) })
	return m, err
}
func (c *watched) Release(ctx context.Context, id string) (err error) {
	c.do("release", func() { err = c.Cloud.Release(ctx, id) })
	return err
}
func (c *watched) Stop(ctx context.Context, id string) (err error) {
	c.do("stop", func() { err = c.Cloud.(rental.Stopper).Stop(ctx, id) })
	return err
}
func (c *watched) Start(ctx context.Context, id string) (err error) {
	c.do("start", func() { err = c.Cloud.(rental.Stopper).Start(ctx, id) })
	return err
}
func (c *watched) Bill(ctx context.Context, id string, from, to time.Time) (usd decimal.Decimal, err error) {
	c.do("bill", func() { usd, err = c.Cloud.Bill(ctx, id, from, to) })
	return usd, err
}
