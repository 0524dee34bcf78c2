package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func hourly(n int, ran time.Duration) EndedLaunch {
	return EndedLaunch{N: n, Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}, Limit: time.Hour, Seen: &offer.Observation{Usage: &offer.Usage{Elapsed: ran}}}
}

// TestALaunchThatWasNeverHeardOfCountsAtItsCeiling, until it is heard of.
func TestALaunchThatWasNeverHeardOfCountsAtItsCeiling(t *testing.T) {
	t.Parallel()
	var bs Books
	bs.Ceiling("plan", state.Amounts{"usd": "6"})
	tab := Tab{Item: Item{Plan: "plan"}, Dues: Dues{Each: usd("2"), Left: 3}, Address: "phase.a", Token: "0123456789abcdef", First: 1,
		Tariff: &Tariff{Price: offer.Price{Known: true, USDPerHour: "2"}}}
	bs.Open(&tab)
	if bs.Afford(tab.Item, "phase.b", due("0.1"), time.Time{}) {
		t.Error("what is set aside is given away")
	}
	entries := bs.Bill(&tab, hourly(2, 30*time.Minute), time.Time{})
	if len(entries) != 2 || !entries[0].Unknown || entries[0].Spent.Get("usd") != "2" || entries[1].Unknown || entries[1].Spent.Get("usd") != "1" {
		t.Errorf("entered %+v", entries)
	}
	if e := entries[1]; e.Token != "01234567" || e.Attempt != 2 || tab.Left != 1 || tab.Paid != 2 {
		t.Errorf("entry %+v, %d launches left, paid to %d", e, tab.Left, tab.Paid)
	}
	if en, ok := bs.Correct(&tab, hourly(1, 15*time.Minute), time.Time{}); !ok || en.Spent.Get("usd") != "0.5" || bs.Spent.Text()["usd"] != "1.5" {
		t.Errorf("corrected %v: %+v; spent %v", ok, en, bs.Spent.Text())
	}
	if _, ok := bs.Correct(&tab, hourly(2, time.Hour), time.Time{}); ok {
		t.Error("what was known is corrected")
	}
	bs.Close(&tab)
	if !bs.Afford(tab.Item, "phase.b", due("4.5"), time.Time{}) || bs.Afford(tab.Item, "phase.b", due("4.6"), time.Time{}) {
		t.Errorf("$1.5 of $6 are spent: %s", bs.Why)
	}
}

// TestWhatNoPriceIsKnownOf: money that is known is entered as such, and of service
// units that nobody priced the entry says so, unless the backend said how many.
func TestWhatNoPriceIsKnownOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		price           offer.Price
		ran             time.Duration
		billed          string
		unknown         bool
		unpriced, units string
		estimated       bool
	}{
		"all is known":                                    {offer.Price{Known: true, USDPerHour: "2"}, time.Hour, "", false, "", "", false},
		"no price in service units":                       {offer.Price{Known: true, USDPerHour: "2", UnknownSU: true}, time.Hour, "", false, "service_units", "", false},
		"it took no time":                                 {offer.Price{Known: true, USDPerHour: "2", UnknownSU: true}, 0, "", false, "", "", false},
		"the backend said how many":                       {offer.Price{Known: true, USDPerHour: "2", UnknownSU: true}, time.Hour, "12 service_units", false, "", "12", false},
		"the backend said the money":                      {offer.Price{Known: true, USDPerHour: "2", UnknownSU: true}, time.Hour, "2 usd", false, "service_units", "", false},
		"no price in money":                               {offer.Price{SUPerNodeHour: "3"}, time.Hour, "", true, "", "3", false},
		"no price at all":                                 {offer.Price{UnknownSU: true}, time.Hour, "", true, "service_units", "", false},
		"no price, and the bill for it":                   {offer.Price{UnknownSU: true}, time.Hour, "2", false, "service_units", "", false},
		"by a guess":                                      {offer.Price{Known: true, Estimated: true, SUPerNodeHour: "3"}, time.Hour, "", false, "", "3", true},
		"by a guess, for nothing":                         {offer.Price{Known: true, Estimated: true}, time.Hour, "", false, "", "", false},
		"the backend said how many, whatever was guessed": {offer.Price{Known: true, Estimated: true, SUPerNodeHour: "3"}, time.Hour, "12 service_units", false, "", "12", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bs Books
			tab := Tab{Dues: Dues{Left: 1}, Address: "phase.a", Token: "0123456789abcdef", First: 1, Tariff: &Tariff{Price: c.price}}
			bs.Open(&tab)
			l := hourly(1, c.ran)
			l.Seen.Usage.Billed = c.billed
			e := bs.Bill(&tab, l, time.Time{})[0]
			if got := strings.Join(e.Unpriced, " "); got != c.unpriced || e.Unknown != c.unknown || e.Spent.Get("service_units") != c.units || e.Estimated != c.estimated {
				t.Errorf("%+v", e)
			}
			if usd := e.Spent.Get("usd"); c.price.USDPerHour != "" && c.ran > 0 && usd != "2" {
				t.Errorf("$%s are entered", usd)
			}
		})
	}
}

// TestWhatIsKnownByNow: a launch whose service units were not known when it began
// is charged as its place charges now, and one whose were is charged as it was.
func TestWhatIsKnownByNow(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 1, GPUs: 2, Nodes: 1, Walltime: time.Hour}
	none, paid, dear := offer.Price{Known: true, UnknownSU: true}, offer.Price{Known: true, SUPerGPUHour: "3"}, offer.Price{Known: true, SUPerGPUHour: "9"}
	for name, c := range map[string]struct {
		was  offer.Price
		is   *offer.Price // nil: its place is not known now
		most string       // service units of the launch; "" = not known
		open bool
	}{
		"not known then, nor now":           {none, &none, "", true},
		"not known then, known now":         {none, &dear, "18", false},
		"not known then, free now":          {none, &offer.Price{Known: true, SUPerNodeHour: "0"}, "", false},
		"not known then, no place now":      {none, nil, "", true},
		"not known then, away now":          {none, &offer.Price{}, "", true},
		"known then, dearer now":            {paid, &dear, "6", false},
		"known then, not any more":          {paid, &none, "6", false},
		"known then in money, not in units": {offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, &dear, "18", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := place.Decision{Price: c.was}
			at := &state.Attempt{Rates: was.Rates(s), Ceiling: TariffOf(&was).Ceiling(s)}
			var now *place.Decision
			if c.is != nil {
				now = &place.Decision{Backend: "slurm.x", Price: *c.is}
			}
			tariff := Recorded(at, now)
			if tariff == nil {
				t.Fatal("nothing is recorded")
			}
			if got := tariff.Ceiling(s); got["service_units"] != c.most || got["usd"] != TariffOf(&was).Ceiling(s)["usd"] {
				t.Errorf("at most %v", got)
			}
			if now == nil {
				now = &place.Decision{}
			}
			d := Prices{}.Dues(Ask{Where: now, Recorded: at.Ceiling, Charged: tariff, Planned: s, Now: &s, Left: 1})
			if d.One["service_units"] != c.most || d.Open[serviceUnits] != c.open || d.Open[money] {
				t.Errorf("set aside %v, open %v", d.One, d.Open)
			}
		})
	}
}

// TestALaunchThatWasPutOffTakesNothing of what is set aside for those to come.
func TestALaunchThatWasPutOffTakesNothing(t *testing.T) {
	t.Parallel()
	var bs Books
	bs.Ceiling("plan", state.Amounts{"usd": "4"})
	tab := Tab{Item: Item{Plan: "plan"}, Dues: Dues{Each: usd("2"), Left: 1}, Address: "phase.a", Token: "0123456789abcdef", First: 1,
		Tariff: &Tariff{Price: offer.Price{Known: true, USDPerHour: "2"}}}
	bs.Open(&tab)
	off := hourly(1, 0)
	off.Seen.Status = offer.Waiting
	if entries := bs.Bill(&tab, off, time.Time{}); len(entries) != 1 || entries[0].Unknown || len(entries[0].Spent) > 0 || tab.Left != 1 || tab.Paid != 1 {
		t.Errorf("entered %+v, %d launches left", entries, tab.Left)
	}
	if bs.Afford(tab.Item, "phase.b", due("3"), time.Time{}) {
		t.Error("what the launch to come may cost is given away")
	}
	if entries := bs.Bill(&tab, hourly(2, time.Hour), time.Time{}); len(entries) != 1 || entries[0].Spent.Get("usd") != "2" || tab.Left != 0 {
		t.Errorf("entered %+v, %d launches left", entries, tab.Left)
	}
}

// TestALaunchThatWasPutOffUnheard: that it took nothing is heard of when a later
// one is over, and one more than was thought is still to come.
func TestALaunchThatWasPutOffUnheard(t *testing.T) {
	t.Parallel()
	var bs Books
	bs.Ceiling("plan", state.Amounts{"usd": "10"})
	tab := Tab{Item: Item{Plan: "plan"}, Dues: Dues{Each: usd("2"), Left: 3, Steps: []Amounts{usd("2"), usd("3"), usd("4")}}, Address: "phase.a", Token: "0123456789abcdef", First: 1,
		Tariff: &Tariff{Price: offer.Price{Known: true, USDPerHour: "2"}}}
	bs.Open(&tab)
	bs.Bill(&tab, hourly(2, 30*time.Minute), time.Time{})
	off := hourly(1, 0)
	off.Seen.Status = offer.Waiting
	if en, ok := bs.Correct(&tab, off, time.Time{}); !ok || len(en.Spent) > 0 || en.Unknown || tab.Left != 2 || bs.Spent.Text()["usd"] != "1" {
		t.Errorf("%v %+v, %d launches left, $%s spent", ok, en, tab.Left, bs.Spent.Text()["usd"])
	}
	if !bs.Afford(tab.Item, "phase.b", due("2"), time.Time{}) || bs.Afford(tab.Item, "phase.b", due("2.1"), time.Time{}) {
		t.Errorf("$1 is spent and $7 set aside, of $10: %s", bs.Why)
	}
	bs.Close(&tab)
	if !bs.Afford(tab.Item, "phase.b", due("9"), time.Time{}) {
		t.Errorf("$1 of $10 is spent: %s", bs.Why)
	}
}

// TestABootIsBilledOnce: from when a launch is queued to when it runs its machine
// boots, too; where the queue is billed that boot is in the bill once, as it is in
// the ceiling.
func TestABootIsBilledOnce(t *testing.T) {
	t.Parallel()
	s := offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}
	for name, c := range map[string]struct {
		waited time.Duration
		bills  bool
		took   string
	}{
		"as quoted":                {2*time.Hour + 6*time.Minute, true, "15.6"},
		"longer than quoted":       {5*time.Hour + 6*time.Minute, true, "33.6"},
		"only the boot":            {6 * time.Minute, true, "3.6"},
		"its machine was up":       {0, true, "3.6"},
		"a queue that is not paid": {5 * time.Hour, false, "3.6"},
	} {
		d := place.Decision{Price: offer.Price{Known: true, USDPerHour: "6", BillsWhileQueued: c.bills}, Wait: 2 * time.Hour, Boot: 6 * time.Minute}
		tariff := TariffOf(&d)
		var b Books
		tab := Tab{Tariff: &tariff, First: 1, Dues: Dues{Each: Parse(tariff.Ceiling(s)), Left: 1}}
		b.Open(&tab)
		seen := &offer.Observation{Usage: &offer.Usage{Elapsed: 30 * time.Minute}}
		en := b.Bill(&tab, EndedLaunch{N: 1, Shape: s, Limit: s.Walltime, Waited: c.waited, Seen: seen}, time.Now())[0]
		if got := en.Spent.Get("usd"); got != c.took || en.Unknown {
			t.Errorf("%s: $%s, not $%s; unknown %t", name, got, c.took, en.Unknown)
		}
	}
}

func TestElapsedOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		o    offer.Observation
		want time.Duration
		ok   bool
	}{
		"nothing is known":          {offer.Observation{}, 0, false},
		"as measured":               {offer.Observation{Usage: &offer.Usage{Elapsed: time.Minute}, Started: at, Ended: at.Add(time.Hour)}, time.Minute, true},
		"between its times":         {offer.Observation{Usage: &offer.Usage{Elapsed: -1}, Started: at, Ended: at.Add(time.Hour)}, time.Hour, true},
		"its clock was set forward": {offer.Observation{Started: at, Ended: at.Add(11 * time.Hour)}, 0, false},
		"its clock was set back":    {offer.Observation{Started: at, Ended: at.Add(-time.Second)}, 0, false},
	} {
		if got, ok := elapsedOf(&c.o, time.Hour); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}

// TestDuesAreAsRecordedAndGrown: a price that changed meanwhile changes
// nothing of what was admitted, and a launch that grew costs as it grew.
func TestDuesAreAsRecordedAndGrown(t *testing.T) {
	t.Parallel()
	ps := Prices{}
	d := &place.Decision{Price: offer.Price{Known: true, USDPerHour: "2"}}
	s := offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}
	long := s
	long.Walltime = 3 * time.Hour
	for name, c := range map[string]struct {
		ask  Ask
		want string
	}{
		"as placed":          {Ask{Where: d, Planned: s, Left: 2}, "4"},
		"from what was kept": {Ask{Where: d, Planned: s, Left: 1}, "2"},
		"as recorded":        {Ask{Where: d, Planned: s, Left: 1, Recorded: state.Amounts{"usd": "1"}}, "1"},
		"as asked when it was launched, and grown": {Ask{Where: d, Planned: s, Now: &long, Left: 1, Charged: &Tariff{Price: offer.Price{Known: true, USDPerHour: "3"}}}, "9"},
		"known by now":   {Ask{Where: d, Planned: s, Left: 1, Recorded: state.Amounts{"cpu_hours": "1"}}, "2"},
		"placed nowhere": {Ask{Left: 1, Recorded: state.Amounts{"usd": "1"}}, "1"},
		"grown":          {Ask{Where: d, Planned: s, Now: &long, Left: 1}, "6"},
	} {
		if dues := ps.Dues(c.ask); dues.Rest().Text()["usd"] != c.want {
			t.Errorf("%s: $%s, not $%s", name, dues.Rest().Text()["usd"], c.want)
		}
	}
	now, grown := Tariff{Price: d.Price}, Tab{Dues: Dues{Each: usd("2")}}
	if grown.Each[cpuHours] = perUnit; grown.Dearer(now, s) || !grown.Dearer(now, long) {
		t.Error("three hours cost no more than one")
	}
}

// TestPackedLaunch: a launch that shared its node is charged for the node as long as that
// counts as its own, and for its cores as long as it ran.
func TestPackedLaunch(t *testing.T) {
	t.Parallel()
	var bs Books
	tab := Tab{Dues: Dues{Each: Amounts{}, Left: 1}, Address: "phase.a", Token: "0123456789abcdef", First: 1, Tariff: &Tariff{Price: offer.Price{Known: true, SUPerNodeHour: "2", CPUs: 64}, WholeNode: true}}
	bs.Open(&tab)
	l := hourly(1, 30*time.Minute)
	l.Shape.CPUs, l.Shape.Pack, l.Seen.Usage.NodeTime = 8, 4, 15*time.Minute
	en := bs.Bill(&tab, l, time.Time{})[0]
	for unit, want := range map[string]string{"node_hours": "0.25", "service_units": "0.5", "cpu_hours": "4"} {
		if got := en.Spent.Get(unit); got != want {
			t.Errorf("%s %s, not %s", got, unit, want)
		}
	}
}
