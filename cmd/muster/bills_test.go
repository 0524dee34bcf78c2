package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simlambda "github.com/muster-run/muster/internal/cloudsim/lambda"
	simpaperspace "github.com/muster-run/muster/internal/cloudsim/paperspace"
	simrunpod "github.com/muster-run/muster/internal/cloudsim/runpod"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/providers/lambda"
	"github.com/muster-run/muster/providers/paperspace"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/runpod"
	"github.com/muster-run/muster/providers/vastai"
	"github.com/muster-run/muster/state"
)

// billed are the clouds, each with its client at a simulator.
var billed = map[string]struct {
	platform rental.Platform
	simulate func(*sim.World) sim.Cloud
	client   func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud
	want     rental.Want
	stops    bool
}{
	"vastai": {vastai.Platform{}, func(w *sim.World) sim.Cloud { return simvast.New(w) }, func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud {
		return vastai.New(rental.Access{Service: "Vast.ai", URL: url, Key: "key", Now: now, Sleep: sleep})
	}, rental.Want{GPUs: 1, Models: []string{"RTX 4090"}, Disk: 20e9, MostUSDPerHour: decimal.RequireFromString("0.7"), Reliability: 0.9, Image: "i"}, true},
	"vastai, spot": {vastai.Platform{}, func(w *sim.World) sim.Cloud { return simvast.New(w) }, func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud {
		return vastai.New(rental.Access{Service: "Vast.ai", URL: url, Key: "key", Now: now, Sleep: sleep})
	}, rental.Want{GPUs: 1, Models: []string{"RTX 4090"}, Disk: 20e9, MostUSDPerHour: decimal.RequireFromString("0.7"), Reliability: 0.9, Image: "i", Spot: true, Bid: decimal.RequireFromString("0.25")}, true},
	"runpod": {runpod.Platform{}, func(w *sim.World) sim.Cloud { return simrunpod.New(w) }, func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud {
		return runpod.New(runpod.Config{Access: rental.Access{Service: "RunPod", URL: url, Key: "key", Now: now, Sleep: sleep}})
	}, rental.Want{GPUs: 1, Models: []string{"RTX 4090"}, Disk: 20e9, MostUSDPerHour: decimal.RequireFromString("1"), Image: "i"}, true},
	"lambda": {lambda.Platform{}, func(w *sim.World) sim.Cloud { return simlambda.New(w) }, func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud {
		return lambda.New(rental.Access{Service: "Lambda", URL: url + "/api/v1", Key: "key", Now: now, Sleep: sleep})
	}, rental.Want{GPUs: 1, Models: []string{"A10"}, Disk: 50e9, MostUSDPerHour: decimal.RequireFromString("1.5")}, false},
	"paperspace": {paperspace.Platform{}, func(w *sim.World) sim.Cloud { return simpaperspace.New(w) }, func(url string, now func() time.Time, sleep func(context.Context, time.Duration) error) rental.Cloud {
		return paperspace.New(paperspace.Config{Access: rental.Access{Service: "Paperspace", URL: url + "/v1", Key: "key", Now: now, Sleep: sleep}})
	}, rental.Want{GPUs: 1, Models: []string{"A4000"}, Disk: 50e9, MostUSDPerHour: decimal.RequireFromString("1")}, true}, // larger disks cost less than the most that muster counts
}

// The ledger has what each cloud bills for boot, work, a stopped disk and idle time, also
// where its clock and the one here differ by an hour.
func TestLedgerIsTheBillOfEachCloud(t *testing.T) {
	// Requirement: CST-08
	t.Parallel()
	for name := range billed {
		for off, words := range map[time.Duration]string{0: "one clock", time.Hour: "ours is ahead", -time.Hour: "theirs is ahead"} {
			t.Run(name+", "+words, func(t *testing.T) {
				t.Parallel()
				bills(t, name, off)
			})
		}
	}
}

func bills(t *testing.T, name string, off time.Duration) {
	c := billed[name]
	accounts, err := sim.NewAccounts("key account=me credit=100\n")
	if err != nil {
		t.Fatal(err)
	}
	world := &sim.World{Clock: sim.NewClock(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), 0), Accounts: accounts, Machines: sim.NoMachines{}}
	cloud := c.simulate(world)
	web := httptest.NewServer(sim.NewServer(world, cloud))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); cloud.Close() })
	now := func() (now time.Time) {
		world.Clock.Do(func() { now = world.Clock.Now() })
		return now.Add(off)
	}
	client := c.client(web.URL, now, func(_ context.Context, d time.Duration) error { world.Clock.Advance(d); return nil })
	k, err := rental.Open(rental.Config{Cloud: client, Terms: c.platform.Facts().Terms, Dir: t.TempDir(), Lineage: "abc", Now: now,
		Key: func() (string, error) {
			return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJeBdpr7+BPfwQ4lTPgp+HJbb60v13NhUVdI/HePoSS7 test", nil
		},
		Check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	turns := func(d time.Duration) {
		for end := now().Add(d); now().Before(end); world.Clock.Advance(5 * time.Second) {
			if turned, err := k.Turn(t.Context()); err != nil || len(turned.Orphans) > 0 {
				t.Fatalf("%+v %v", turned, err)
			}
		}
	}
	token, err := k.Rent(c.want)
	if err != nil {
		t.Fatal(err)
	}
	turns(20 * time.Minute)
	if c.stops {
		if err := k.Stop(token, "idle"); err != nil {
			t.Fatal(err)
		}
		turns(40 * time.Minute)
		if err := k.Start(token); err != nil {
			t.Fatal(err)
		}
		turns(15 * time.Minute)
	}
	if r := k.Rentals()[0]; r.Step != rental.Ready {
		t.Fatalf("%+v", r)
	}
	if err := k.Release(token, "done"); err != nil {
		t.Fatal(err)
	}
	turns(25 * time.Minute)
	r := k.Rentals()[0]
	ledger, known := state.Rental{Status: state.RentalReleased, PerHour: r.Offer.USDPerHour.String(), Began: r.Since, Ended: r.Ended, Billed: r.USD}.Cost(now())
	var text []byte
	world.Clock.Do(func() { text, err = json.Marshal(cloud.Truth()) })
	var truth struct {
		Instances []struct {
			USD  decimal.Decimal
			Gone bool
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &truth)
	}
	if err != nil || len(truth.Instances) != 1 || !truth.Instances[0].Gone {
		t.Fatalf("%v %s", err, text)
	}
	if bill := truth.Instances[0].USD; !known || !bill.IsPositive() || ledger.Sub(bill).Abs().GreaterThan(decimal.RequireFromString("0.001")) {
		t.Errorf("the ledger has %s (known %t), and the bill is %s: %+v", ledger, known, bill, r)
	}
}
