package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func usd(text string) Amounts { return Parse(map[string]string{"usd": text}) }

func due(text string) Dues { return Dues{Each: usd(text), Left: 1} }

func TestNothingIsAffordedBeyondALimit(t *testing.T) {
	t.Parallel()
	var b Books
	b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{"usd": "10"}, AppliesTo: []string{"phase.a"}, WarnAt: 0.8})
	b.Ceiling("plan", state.Amounts{"usd": "5"})
	it, now := Item{Phase: "a", Backend: "x.y", Plan: "plan"}, time.Now()
	b.enter(it, usd("3"), usd("3"), "")
	if !b.Afford(it, "phase.a", due("2"), now) {
		t.Errorf("2 of what is left: %s", b.Why)
	}
	if b.Afford(it, "phase.a", due("2.000000001"), now) || !strings.Contains(b.Why, "the approved ceiling does not cover phase.a") {
		t.Errorf("a billionth too much is afforded: %q", b.Why)
	}
	other := Item{Phase: "a", Plan: "another"}
	b.reserve(other, usd("6"), 1)
	if b.Afford(other, "phase.a", due("2"), now) || !strings.Contains(b.Why, `budget "b"`) {
		t.Errorf("what flies does not count: %q", b.Why)
	}
	if w := b.Warnings(); len(w) != 1 || len(b.Warnings()) != 0 {
		t.Errorf("warnings %v", w)
	}
	b.reserve(other, usd("6"), -1)
	if !b.Afford(other, "phase.a", due("2"), now) {
		t.Errorf("what landed counts: %s", b.Why)
	}
	if !b.Afford(Item{Phase: "z"}, "phase.z", due("1000"), now) {
		t.Errorf("a phase that no budget names: %s", b.Why)
	}
}

// TestThirdsAddUp: three launches at a third of a dollar fit a dollar; what lacks is
// said as a limit that would do.
func TestThirdsAddUp(t *testing.T) {
	t.Parallel()
	it, now := Item{Phase: "a"}, time.Now()
	third := Dues{Each: TariffOf(&place.Decision{Price: offer.Price{Known: true, USDPerHour: "1"}}).Ceilings([]offer.Shape{{Walltime: 20 * time.Minute}})[0], Left: 1}
	third.Each[cpuHours] = 0
	for limit, why := range map[string]string{
		"1":           "",
		"0.9":         `pass $0.90. Set usd = 1 to start it`,
		"0.999999999": `pass $1. Set usd = 1 to start it`,
	} {
		var b Books
		b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{"usd": limit}})
		for range 2 {
			b.reserve(it, third.Rest(), 1)
		}
		if fits := b.Afford(it, "phase.a", third, now); fits != (why == "") || !strings.HasSuffix(b.Why, why) {
			t.Errorf("of %s: %v, %q", limit, fits, b.Why)
		}
	}
}

// TestAmountsBeyondCount: what is too large to be counted is not taken for
// little, or for less than nothing.
func TestAmountsBeyondCount(t *testing.T) {
	t.Parallel()
	it, now := Item{Phase: "a"}, time.Now()
	for _, c := range []struct {
		name, limit, spent string
		job                Dues
		fits               bool
	}{
		{"a limit beyond all", "1e18", "0", due("40"), true},
		{"a job beyond all", "100", "0", due("1e10"), false},
		{"a job beyond all under such a limit", "1e18", "0", due("1e10"), false},
		{"many launches that come to more than all", "100", "0", Dues{Each: usd("5e9"), Left: 3}, false},
		{"what is spent and the job together", "100", "9e9", due("9e9"), false},
	} {
		var b Books
		b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{"usd": c.limit}})
		b.enter(it, usd(c.spent), Amounts{}, "")
		if b.Afford(it, "phase.a", c.job, now) != c.fits {
			t.Errorf("%s: fits %t: %s", c.name, !c.fits, b.Why)
		}
	}
	if got := hours(1<<40, 1<<62); got != beyond {
		t.Errorf("%d", got)
	}
	if got := hours(3, 90*time.Minute); got != 4_500_000_000*9 {
		t.Errorf("%d", got)
	}
}

func TestDeadlineStopsStarts(t *testing.T) {
	t.Parallel()
	var b Books
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	b.Budget(&lang.Budget{Name: "b", Deadline: now})
	if !b.Afford(Item{}, "phase.a", Dues{}, now) || b.Afford(Item{}, "phase.a", Dues{}, now.Add(time.Second)) {
		t.Errorf("at the deadline and after it: %q", b.Why)
	}
}

func TestLaunchesThatScaleAreDueOneByOne(t *testing.T) {
	t.Parallel()
	d := Dues{Each: usd("1"), Left: 3, Steps: []Amounts{usd("1"), usd("2"), usd("4")}}
	if d.Rest() != usd("7") || d.Next() != usd("1") {
		t.Errorf("rest %v, next %v", d.Rest(), d.Next())
	}
	d.Left = 1
	if d.Rest() != usd("4") || d.Next() != usd("4") {
		t.Errorf("of the last: rest %v, next %v", d.Rest(), d.Next())
	}
}

func TestWholeNodesArePaidByTheNode(t *testing.T) {
	t.Parallel()
	tariff := Tariff{Price: offer.Price{Known: true, SUPerNodeHour: "3"}, WholeNode: true}
	got, known := tariff.Cost(offer.Shape{GPUs: 1, CPUs: 2, Nodes: 2}, 90*time.Minute)
	want := Parse(map[string]string{"service_units": "9", "node_hours": "3", "gpu_hours": "3", "cpu_hours": "3"})
	if got != want || !known.All() {
		t.Errorf("%v, want %v", got.Text(), want.Text())
	}
}

// TestGivenCoresCount: what a launch took counts the cores that it was given.
func TestGivenCoresCount(t *testing.T) {
	t.Parallel()
	tariff := Tariff{Price: offer.Price{Known: true, CPUs: 8, GPUs: 2}}
	got, known := tariff.Cost(offer.Shape{CPUs: 1}, 90*time.Minute)
	if want := Parse(map[string]string{"gpu_hours": "3", "cpu_hours": "12", "node_hours": "1.5"}); got != want || !known.All() {
		t.Errorf("%v, want %v", got.Text(), want.Text())
	}
}

// TestWhatNothingBoundsFitsNoLimit: without a price money is not known, and
// without a walltime nothing is that the place charges.
func TestWhatNothingBoundsFitsNoLimit(t *testing.T) {
	t.Parallel()
	gpu := offer.Shape{CPUs: 1, GPUs: 1, Nodes: 1, Walltime: time.Hour}
	free, open := offer.Price{Known: true}, gpu
	open.Walltime = 0
	for _, c := range []struct {
		name  string
		price offer.Price
		shape offer.Shape
		limit string
		fits  bool
	}{
		{"a known nothing, money", free, gpu, "usd", true},
		{"no price, money", offer.Price{}, gpu, "usd", false},
		{"no price, service units that nobody charges", offer.Price{}, gpu, "service_units", true},
		{"no price in service units, money", offer.Price{Known: true, UnknownSU: true}, gpu, "usd", true},
		{"no price in service units, those", offer.Price{Known: true, UnknownSU: true}, gpu, "service_units", false},
		{"no price in service units, money that is charged", offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, gpu, "usd", true},
		{"no price in service units, GPU-hours", offer.Price{Known: true, UnknownSU: true}, gpu, "gpu_hours", true},
		{"free in service units", offer.Price{Known: true, SUPerNodeHour: "0"}, gpu, "service_units", true},
		{"no price, GPU-hours", offer.Price{}, gpu, "gpu_hours", true},
		{"no walltime, GPU-hours", free, open, "gpu_hours", false},
		{"no walltime, free, money", free, open, "usd", true},
		{"no walltime, priced, money", offer.Price{Known: true, USDPerHour: "1"}, open, "usd", false},
		{"no walltime, service units that nobody charges", free, open, "service_units", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b Books
			b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{c.limit: "100"}})
			tariff := Tariff{Price: c.price}
			d := Dues{Each: Parse(tariff.Ceiling(c.shape)), Left: 1, Open: tariff.Open(c.shape)}
			if b.Afford(Item{}, "phase.a", d, time.Now()) != c.fits {
				t.Errorf("fits %v: %q", !c.fits, b.Why)
			}
		})
	}
}

func TestBilledAsTheBackendSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, unit string
		want       int64
	}{
		{"0.35 usd", "usd", 3_150_000_000}, {"12 service_units", "service_units", 108_000_000_000}, {"7200 billing-seconds", "", 0},
		{"0.7", "usd", 6_300_000_000}, {"-1 usd", "", 0}, {"", "", 0}, {"usd", "", 0}, {"1e300 usd", "", 0}, {"0 usd", "usd", 0},
	} {
		unit, v, ok := Billed(c.text)
		if ok != (c.unit != "") || ok && (units[unit] != c.unit || v != c.want) {
			t.Errorf("%q: %d of unit %d, %v", c.text, v, unit, ok)
		}
	}
}

// TestTheLeastThatIsBilled: the ceiling and the ledger have it, by the device.
func TestTheLeastThatIsBilled(t *testing.T) {
	t.Parallel()
	tariff := Tariff{Price: offer.Price{Known: true, USDPerGPUHour: "1.5", Minimum: time.Hour, Granularity: time.Minute}}
	s := offer.Shape{CPUs: 1, GPUs: 2, Walltime: 30 * time.Minute}
	if got := tariff.Ceiling(s)["usd"]; got != "3" {
		t.Errorf("at most $%s", got)
	}
	for ran, want := range map[time.Duration]string{3 * time.Minute: "3", time.Hour: "3", 72*time.Minute - time.Second: "3.6"} {
		if spent, known := tariff.Took(s, ran, -1); spent.Text()["usd"] != want || !known {
			t.Errorf("%v took $%s, not $%s; known %t", ran, spent.Text()["usd"], want, known)
		}
	}
}

// TestAQueueThatIsBilled: the ceiling counts the wait that was quoted, and the
// bill the wait that was; a wait of which nobody knows fits into no limit.
func TestAQueueThatIsBilled(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}
	price := offer.Price{Known: true, USDPerHour: "6", SUPerNodeHour: "2", BillsWhileQueued: true}
	for name, c := range map[string]struct {
		quoted, waited time.Duration
		most, took     string // money
		known, fits    bool
	}{
		"as quoted":               {2 * time.Hour, 2 * time.Hour, "18.6", "15.6", true, true},
		"longer than quoted":      {2 * time.Hour, 5 * time.Hour, "18.6", "33.6", true, true},
		"no wait":                 {2 * time.Hour, 0, "18.6", "3.6", true, true},
		"it was never told":       {2 * time.Hour, -1, "18.6", "3.6", false, true},
		"quoted by nobody":        {-1, 2 * time.Hour, "6.6", "15.6", true, false},
		"neither quoted nor told": {-1, -1, "6.6", "3.6", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := place.Decision{Price: place.Unwaited(price, c.quoted), Wait: c.quoted, Boot: 6 * time.Minute}
			at := &state.Attempt{Rates: d.Rates(d.Shape)}
			for _, tariff := range []*Tariff{new(TariffOf(&d)), Recorded(at, nil)} { // as placed, and as it belongs in the state
				if tariff == nil {
					t.Fatal("nothing is recorded")
				}
				if got := tariff.Ceiling(s)["usd"]; got != c.most {
					t.Errorf("at most $%s, not $%s", got, c.most)
				}
				spent, known := tariff.Took(s, 30*time.Minute, c.waited)
				if got := spent.Text()["usd"]; got != c.took || known != c.known {
					t.Errorf("took $%s, known %t", got, known)
				}
				for _, unit := range []string{"usd", "service_units", "cpu_hours"} {
					var b Books
					b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{unit: "100"}})
					fits := b.Afford(Item{}, "phase.a", Dues{Each: Parse(tariff.Ceiling(s)), Left: 1, Open: tariff.Open(s)}, time.Now())
					if want := c.fits || unit == "cpu_hours"; fits != want {
						t.Errorf("a limit of %s: fits %t: %s", unit, fits, b.Why)
					}
				}
			}
		})
	}
}

// TestRentalsArePaidAroundTheirJobs: a launch's ceiling holds the boot before
// and the hold after it, as the plan counts them, and so does what it cost.
func TestRentalsArePaidAroundTheirJobs(t *testing.T) {
	t.Parallel()
	tariff := Tariff{Price: offer.Price{Known: true, USDPerHour: "6"}, Around: 15 * time.Minute, Hold: 15 * time.Minute}
	s := offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}
	if got := tariff.Ceiling(s)["usd"]; got != "9" {
		t.Errorf("at most $%s, not 9", got)
	}
	if spent, known := tariff.Cost(s, 30*time.Minute); spent != Parse(map[string]string{"usd": "6", "cpu_hours": "0.5", "node_hours": "0.5"}) || !known.All() {
		t.Errorf("half an hour costs %v", spent.Text())
	}
}

// TestSumsAreExact: whatever the rate and however long the launches, a limit of what
// they come to, as decimal text, covers them, and none is left out by rounding.
func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "launches")
		s := offer.Shape{CPUs: rapid.IntRange(1, 64).Draw(t, "cores"), Walltime: time.Duration(rapid.IntRange(1, 400_000).Draw(t, "seconds")) * time.Second}
		rate := decimal.New(int64(rapid.IntRange(1, 10_000_000).Draw(t, "rate")), -int32(rapid.IntRange(0, 5).Draw(t, "places")))
		tariff := TariffOf(&place.Decision{Price: offer.Price{Known: true, USDPerHour: rate.String()}})
		each := Parse(tariff.Ceiling(s))
		hours := decimal.NewFromInt(int64(s.Walltime / time.Second)).Mul(decimal.NewFromInt(int64(n)))
		for unit, rate := range map[string]decimal.Decimal{"usd": rate, "cpu_hours": decimal.NewFromInt(int64(s.CPUs))} {
			all := rate.Mul(hours)
			if limit := all.DivRound(decimal.NewFromInt(3600), 9); limit.LessThan(decimal.New(1, 8)) {
				if !limit.Mul(decimal.NewFromInt(3600)).Equal(all) {
					limit = limit.RoundUp(9).Add(decimal.New(1, -9)) // no decimal says it
				}
				var b Books
				b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{unit: limit.String()}})
				b.reserve(Item{}, each, int64(n-1))
				if !b.Afford(Item{}, "phase.a", Dues{Each: each, Left: 1}, time.Now()) {
					t.Fatalf("%s: %s", unit, b.Why)
				}
				b.reserve(Item{}, each, 1)
				if b.Afford(Item{}, "phase.a", Dues{Each: each, Left: 1}, time.Now()) {
					t.Fatalf("%d launches fit %s %s", n+1, limit, unit)
				}
			}
		}
	})
}
