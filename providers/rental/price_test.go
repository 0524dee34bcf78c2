package rental_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// moving is a market whose prices are some percent of what they were.
type moving struct {
	platform
	percent *atomic.Int64
}

func (m moving) Open(b providers.Backend) (rental.Cloud, error) {
	c, err := m.platform.Open(b)
	return movingCloud{c, m.percent}, err
}

type movingCloud struct {
	rental.Cloud
	percent *atomic.Int64
}

func (c movingCloud) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	all := w
	all.MostUSDPerHour = decimal.NewFromInt(1000)
	list, err := c.Cloud.Offers(ctx, all)
	for i := range list {
		list[i].USDPerHour = list[i].USDPerHour.Mul(decimal.New(c.percent.Load(), -2))
	}
	return list, err
}

func newMarket(t *testing.T, config map[string]any) (n *town, percent *atomic.Int64) {
	t.Helper()
	n, percent = newTown(t, config), &atomic.Int64{}
	percent.Store(100)
	n.cloudOf = func(p platform) rental.Platform { return moving{p, percent} }
	n.begin()
	return n, percent
}

func (n *town) quote() offer.Price {
	n.Helper()
	n.clock.Advance(time.Minute) // the last search is old
	quotes, err := n.provider.Quote(n.Context(), n.backend.Name, []offer.Shape{{CPUs: 1, Nodes: 1}})
	if err != nil || !quotes[0].Fits {
		n.Fatal(quotes, err)
	}
	return quotes[0].Price
}

func (n *town) orders() (most decimal.Decimal) {
	n.Helper()
	list, err := n.provider.Rentals(n.Context(), n.backend.Name)
	for range 20 { // the provider's own look may just have used up what the cloud allows
		if err == nil || !strings.Contains(err.Error(), "wants to be asked later") {
			break
		}
		n.clock.Advance(10 * time.Second)
		list, err = n.provider.Rentals(n.Context(), n.backend.Name)
	}
	if err != nil {
		n.Fatal(err)
	}
	for _, r := range list {
		rate, err := decimal.NewFromString(r.Rate)
		if err != nil {
			n.Fatal(err)
		}
		most = decimal.Max(most, rate)
	}
	return most
}

// A price covers the machine that is rented for it when the market has risen since, by so
// much as muster accepts; never more than the backend's limit.
//
// Requirement: CST-02
func TestAPriceCoversWhatIsRented(t *testing.T) {
	t.Parallel()
	n, percent := newMarket(t, nil)
	price := n.quote()
	percent.Store(109)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to be done", all(offer.Completed, j))
	paid, quoted := n.orders(), decimal.RequireFromString(price.USDPerHour)
	if !paid.GreaterThan(quoted) {
		t.Fatalf("rented at %s, quoted at %s: this test shows nothing", paid, quoted)
	}
	if most := decimal.RequireFromString(place.Dearest(price)); paid.GreaterThan(most) || most.GreaterThan(quoted.Mul(decimal.RequireFromString("1.10"))) {
		t.Errorf("rented at %s, and at most %s was to be paid", paid, most)
	}
	limited := newTown(t, map[string]any{"max_usd_per_hour": 0.35})
	if p := limited.quote(); place.Dearest(p) != "0.35" {
		t.Errorf("at most %s is paid, with a limit of $0.35/h", place.Dearest(p))
	}
}

// Nothing dearer is rented than was quoted when the job was submitted, whether the market is
// looked at again in the meantime or the provider begins again and has quoted nothing.
func TestARisenMarketIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		n, percent := newMarket(t, nil)
		n.quote()
		percent.Store(150)
		j := n.job("a", "echo '{}' > a.json")
		n.submit(j)
		if again {
			n.begin()
		}
		if _, err := n.provider.Pools(t.Context(), n.backend.Name); err != nil {
			t.Fatal(err)
		}
		seen := n.until("it to wait for a price", func(seen map[string]offer.Observation) bool {
			return len(seen[j.Token].Reason) > len("waits for a machine: ") || seen[j.Token].Rental != nil
		})
		if o := seen[j.Token]; o.Rental != nil || len(n.truth()) != 0 {
			t.Errorf("begun again %v: %+v, %v", again, o, n.truth())
		}
		percent.Store(105)
		n.until("it to be done", all(offer.Completed, j))
	}
}

// A machine that is kept and is dearer than the market of now counts at its own price: jobs
// are given to it.
func TestAPriceCoversAMachineThatIsKept(t *testing.T) {
	t.Parallel()
	n, percent := newMarket(t, nil)
	n.quote()
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to be done", all(offer.Completed, j))
	percent.Store(50)
	if price := n.quote(); decimal.RequireFromString(place.Dearest(price)).LessThan(n.orders()) {
		t.Errorf("at most %s counts, and the machine costs %s", place.Dearest(price), n.orders())
	}
}
