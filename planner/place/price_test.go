package place

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func TestCost(t *testing.T) {
	t.Parallel()
	h := time.Hour
	for _, c := range []struct {
		name  string
		shape offer.Shape
		price offer.Price
		d     time.Duration
		want  map[string]string
	}{
		{"nothing is charged", cpu(4, 0), offer.Price{Known: true}, 90 * time.Minute, map[string]string{NodeHours: "1.5", CPUHours: "6"}},
		{"service units per GPU", gpus(2, 0), su("108.2"), 4 * h, map[string]string{NodeHours: "4", CPUHours: "4", GPUHours: "8", ServiceUnits: "865.6"}},
		{"service units per GPU, no GPU", cpu(1, 0), su("108.2"), 4 * h, map[string]string{NodeHours: "4", CPUHours: "4"}},
		{"service units per core", cpu(4, 0), offer.Price{Known: true, SUPerCPUHour: "0.3"}, h, map[string]string{NodeHours: "1", CPUHours: "4", ServiceUnits: "1.2"}},
		{"service units per node", offer.Shape{CPUs: 4, Nodes: 3}, offer.Price{Known: true, SUPerNodeHour: "64"}, h, map[string]string{CPUHours: "6", NodeHours: "3", ServiceUnits: "192"}},
		{"money per GPU and per node", offer.Shape{CPUs: 1, GPUs: 4, Nodes: 2}, offer.Price{Known: true, USDPerGPUHour: "1.10", USDPerHour: "0.25"}, h, map[string]string{CPUHours: "2", GPUHours: "4", NodeHours: "2", USD: "4.9"}},
		{"three GPUs over two nodes are two of each", offer.Shape{CPUs: 5, GPUs: 3, Nodes: 2}, offer.Price{Known: true, SUPerGPUHour: "10", SUPerCPUHour: "1"}, h, map[string]string{CPUHours: "6", GPUHours: "4", NodeHours: "2", ServiceUnits: "46"}},
		{"money per core", cpu(4, 0), offer.Price{Known: true, USDPerCPUHour: "0.05"}, 90 * time.Minute, map[string]string{NodeHours: "1.5", CPUHours: "6", USD: "0.3"}},
		{"money per core of all that a job is given", cpu(3, 0), offer.Price{Known: true, USDPerCPUHour: "1", USDPerHour: "1", CPUs: 8}, h, map[string]string{NodeHours: "1", CPUHours: "8", USD: "9"}},
		{"billed by the hour", cpu(1, 0), offer.Price{Known: true, USDPerHour: "2", Granularity: h}, 61 * time.Minute, map[string]string{NodeHours: "2", CPUHours: "2", USD: "4"}},
		{"billed by the hour, an hour", cpu(1, 0), offer.Price{Known: true, USDPerHour: "2", Granularity: h}, h, map[string]string{NodeHours: "1", CPUHours: "1", USD: "2"}},
		{"three minutes of an hour at least", cpu(1, 0), offer.Price{Known: true, USDPerHour: "2", Minimum: h}, 3 * time.Minute, map[string]string{NodeHours: "1", CPUHours: "1", USD: "2"}},
		{"an hour at least, and then by the minute", cpu(1, 0), offer.Price{Known: true, USDPerHour: "6", Minimum: h, Granularity: time.Minute}, 65*time.Minute + time.Second, map[string]string{NodeHours: "1.1", CPUHours: "1.1", USD: "6.6"}},
		{"a minimum that is rounded up, too", cpu(1, 0), offer.Price{Known: true, USDPerHour: "2", Minimum: 90 * time.Minute, Granularity: h}, 3 * time.Minute, map[string]string{NodeHours: "2", CPUHours: "2", USD: "4"}},
		{"billed by the second", cpu(1, 0), offer.Price{Known: true, USDPerHour: "3.6", Granularity: time.Second}, 1500 * time.Millisecond, map[string]string{NodeHours: "0.000555555555555556", CPUHours: "0.000555555555555556", USD: "0.002"}},
		{"a job of no cores stated takes one", offer.Shape{}, offer.Price{Known: true}, h, map[string]string{NodeHours: "1", CPUHours: "1"}},
		{"storage by the gigabyte and month", offer.Shape{CPUs: 1, Disk: 100e9}, offer.Price{Known: true, USDPerGBMonth: "0.10"}, 73 * h, map[string]string{NodeHours: "73", CPUHours: "73", USD: "1"}},
		{"given more than was asked for", offer.Shape{CPUs: 3, GPUs: 1}, offer.Price{Known: true, SUPerCPUHour: "1", CPUs: 64, GPUs: 4}, h, map[string]string{NodeHours: "1", CPUHours: "64", GPUHours: "4", ServiceUnits: "64"}},
		{"one of four that share a node", offer.Shape{CPUs: 8, GPUs: 1, Pack: 4}, offer.Price{Known: true, SUPerNodeHour: "2", USDPerHour: "4", SUPerGPUHour: "1", CPUs: 32, GPUs: 4}, 3 * h, map[string]string{NodeHours: "0.75", CPUHours: "24", GPUHours: "3", ServiceUnits: "4.5", USD: "3"}},
		{"one of seven in four slots: two turns of the node", offer.Shape{CPUs: 8, Pack: 7, Slots: 4}, offer.Price{Known: true, SUPerNodeHour: "7"}, h, map[string]string{NodeHours: "0.285714285714285714", CPUHours: "8", ServiceUnits: "2"}},
		{"one of three that share a node, to the last digit", offer.Shape{CPUs: 8, Pack: 3}, offer.Price{Known: true}, h, map[string]string{NodeHours: "0.333333333333333333", CPUHours: "8"}},
		{"grown beyond what was given", cpu(8, 0), offer.Price{Known: true, CPUs: 4}, h, map[string]string{NodeHours: "1", CPUHours: "8"}},
		{"a tenth of a cent", cpu(1, 0), offer.Price{Known: true, USDPerHour: "0.001"}, h, map[string]string{NodeHours: "1", CPUHours: "1", USD: "0.001"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			cost, known := Cost(c.shape, c.price, c.d)
			for unit, v := range cost {
				got[unit] = v.String()
			}
			if d := cmp.Diff(c.want, got); d != "" || !known.All() {
				t.Errorf("known %v\n%s", known, d)
			}
		})
	}
}

func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	cost, known := Cost(gpus(1, 0), offer.Price{}, time.Hour)
	if _, priced := cost[USD]; known.USD || priced {
		t.Errorf("known %v: %v", known, cost)
	}
}

// TestKnownByUnit: a price may be known in one unit and not in the other, and of
// a wait that is billed and not known only what is charged by it is not.
func TestKnownByUnit(t *testing.T) {
	t.Parallel()
	queued := func(p offer.Price) offer.Price { p.Known, p.BillsWhileQueued = true, true; return Unwaited(p, -1) }
	for name, c := range map[string]struct {
		price offer.Price
		shape offer.Shape
		want  Known
	}{
		"nothing is charged":                    {offer.Price{Known: true}, cpu(1, 0), Known{true, true}},
		"a rental that was not quoted":          {offer.Price{}, cpu(1, 0), Known{false, true}},
		"a partition without a rate":            {offer.Price{Known: true, UnknownSU: true}, cpu(1, 0), Known{true, false}},
		"money, and no rate":                    {offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, cpu(1, 0), Known{true, false}},
		"a wait, in money":                      {queued(offer.Price{USDPerHour: "1"}), cpu(1, 0), Known{false, true}},
		"a wait, in service units":              {queued(offer.Price{SUPerNodeHour: "1"}), cpu(1, 0), Known{true, false}},
		"a wait, by the GPU that is not taken":  {queued(offer.Price{SUPerGPUHour: "1"}), cpu(1, 0), Known{true, true}},
		"a wait, by the GPU":                    {queued(offer.Price{SUPerGPUHour: "1"}), gpus(1, 0), Known{true, false}},
		"a wait with a disk":                    {queued(offer.Price{USDPerGBMonth: "1"}), offer.Shape{CPUs: 1, Disk: 1e9}, Known{false, true}},
		"a wait at a rate of nothing":           {queued(offer.Price{SUPerNodeHour: "0"}), cpu(1, 0), Known{true, true}},
		"a wait in money, and no rate in units": {queued(offer.Price{USDPerHour: "1", UnknownSU: true}), cpu(1, 0), Known{false, false}},
		"a rate that is no price":               {Payable(offer.Pool{}, offer.Price{Known: true, SUPerGPUHour: "cheap"}, 0), cpu(1, 0), Known{false, false}},
	} {
		if _, got := AtMost(c.shape, c.price, time.Minute, time.Hour); got != c.want || got.Of(USD) != c.want.USD || got.Of(ServiceUnits) != c.want.ServiceUnits || !got.Of(GPUHours) || got.All() != (c.want == Known{true, true}) {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// TestWholeNodes: where a site charges whole nodes, one GPU costs all three.
func TestWholeNodes(t *testing.T) {
	t.Parallel()
	whole := aa100
	whole.CPUs, whole.WholeNode = 64, true
	d, said := decide(t, Group{Shape: a100(9 * time.Hour), Candidates: []string{"slurm.alpine"}}, func(in *Input) { in.Pools = []offer.Pool{whole} })
	cost, _ := Cost(d.Shape, d.Price, time.Hour)
	if got := cost[ServiceUnits].String(); got != "324.6" {
		t.Errorf("an hour costs %s SU; %s", got, said)
	}
	if got := cost[NodeHours].String(); got != "1" {
		t.Errorf("an hour is %s node-hours", got)
	}
	mixed := NodePrice(offer.Pool{WholeNode: true, GPUs: 4, CPUs: 10}, offer.Price{Known: true, USDPerHour: "1", USDPerGPUHour: "0.5", SUPerNodeHour: "2", SUPerGPUHour: "3", SUPerCPUHour: "0.1"})
	if byCore := NodePrice(offer.Pool{WholeNode: true, CPUs: 10}, offer.Price{Known: true, USDPerCPUHour: "0.1"}); byCore != (offer.Price{Known: true, USDPerHour: "1"}) {
		t.Errorf("%+v", byCore)
	}
	if want := (offer.Price{Known: true, USDPerHour: "3", SUPerNodeHour: "15"}); mixed != want {
		t.Errorf("%+v", mixed)
	}
}

// TestRateThatIsNoPriceIsUnknown: a rate that cannot be read or is negative
// makes the price unknown, never nothing or a gain.
func TestRateThatIsNoPriceIsUnknown(t *testing.T) {
	t.Parallel()
	for rate, known := range map[string]bool{"0.35": true, "0": true, "-0.35": false, "cheap": false, "1e400": false, "NaN": false} {
		p := sound(offer.Price{Known: true, USDPerHour: rate})
		if p.Known != known {
			t.Errorf("%s: known %t", rate, p.Known)
		}
	}
}

// TestABilledWaitOfWhichNobodyKnows is no price: it would count as nothing.
func TestABilledWaitOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	p := offer.Price{Known: true, USDPerHour: "1", BillsWhileQueued: true}
	for _, c := range []struct {
		price offer.Price
		wait  time.Duration
		known bool
	}{{p, 0, true}, {p, time.Hour, true}, {p, -1, false}, {offer.Price{Known: true, USDPerHour: "1"}, -1, true}, {offer.Price{BillsWhileQueued: true}, time.Hour, false}} {
		if got := Unwaited(c.price, c.wait); got.Known != c.known || got.USDPerHour != c.price.USDPerHour {
			t.Errorf("%+v with a wait of %v: %+v", c.price, c.wait, got)
		}
	}
}

// TestHourlyBillsAreRoundedOnce: boot of 10, work of 90 and a hold of 15 minutes are
// two hours.
func TestHourlyBillsAreRoundedOnce(t *testing.T) {
	// Requirement: CST-10
	t.Parallel()
	m := time.Minute
	cost, _ := Charged(cpu(1, 0), offer.Price{Known: true, USDPerHour: "1", Granularity: time.Hour}, 90*m, 10*m, 15*m)
	if got := cost[USD].String(); got != "2" {
		t.Errorf("$%s", got)
	}
}

// TestAMinimumIsBilledOnce: boot, work and the time for which a machine is kept are
// one bill, of the minimum at least, and rounded once.
func TestAMinimumIsBilledOnce(t *testing.T) {
	// Requirement: CST-10
	t.Parallel()
	p := offer.Price{Known: true, USDPerHour: "6", SUPerNodeHour: "60", Minimum: time.Hour, Granularity: time.Minute}
	m := time.Minute
	for _, c := range []struct {
		run, around, hold time.Duration
		usd, su           string
	}{
		{3 * m, 0, 0, "6", "60"},
		{3 * m, 20 * m, 0, "6", "60"},
		{50 * m, 20 * m, 0, "7", "70"},
		{3 * m, 5 * m, 10 * m, "6", "60"},
		{50 * m, 5 * m, 10 * m, "6.5", "65"},
		{60*m + time.Second, 0, 10*m + time.Second, "7.1", "71"},
		{60*m + 20*time.Second, 20 * time.Second, 20 * time.Second, "6.1", "61"},
	} {
		cost, known := Charged(cpu(1, 0), p, c.run, c.around, c.hold)
		if got := cost[USD].Round(9).String() + " " + cost[ServiceUnits].Round(9).String(); !known.All() || got != c.usd+" "+c.su {
			t.Errorf("%v, %v before it and %v after: %s, not %s %s", c.run, c.around, c.hold, got, c.usd, c.su)
		}
	}
}

// TestAtMostCountsMachinesThatAreTried: at most has them, and what a launch is charged has
// not. A record of the launch keeps it.
func TestAtMostCountsMachinesThatAreTried(t *testing.T) {
	t.Parallel()
	price := offer.Price{Known: true, USDPerHour: "2", Spare: 90 * time.Minute}
	s := offer.Shape{Nodes: 1, CPUs: 1, Walltime: time.Hour}
	most, _ := AtMost(s, price, 15*time.Minute, 15*time.Minute)
	took, _ := Charged(s, price, time.Hour, 15*time.Minute, 15*time.Minute)
	if most[USD].String() != "6" || took[USD].String() != "3" {
		t.Errorf("at most %s, charged %s", most[USD], took[USD])
	}
	d := Decision{Price: price, Shape: s}
	at := &state.Attempt{Rates: d.Rates(s)}
	if again, ok := (Decision{}).Charged(at); !ok || again.Price.Spare != price.Spare {
		t.Errorf("%+v", again.Price)
	}
}

// TestAtMostCountsTheDearestHour: at most has the rate that the backend may pay, whatever was
// quoted, and what a launch is charged has the quoted one. A record of the launch keeps it.
func TestAtMostCountsTheDearestHour(t *testing.T) {
	// Requirement: CST-02
	t.Parallel()
	s := offer.Shape{Nodes: 1, CPUs: 1, Walltime: time.Hour}
	for most, want := range map[string]string{"": "4", "2.2": "4.4", "1": "4", "2": "4"} {
		price := offer.Price{Known: true, USDPerHour: "2", USDPerHourAtMost: most}
		got, _ := AtMost(s, price, 30*time.Minute, 30*time.Minute)
		took, _ := Charged(s, price, time.Hour, 30*time.Minute, 30*time.Minute)
		if got[USD].String() != want || took[USD].String() != "4" {
			t.Errorf("%q: at most %s, charged %s", most, got[USD], took[USD])
		}
		d := Decision{Price: price, Shape: s}
		if again, ok := (Decision{}).Charged(&state.Attempt{Rates: d.Rates(s)}); !ok || again.Price.USDPerHourAtMost != most {
			t.Errorf("%q: recorded as %+v", most, again.Price)
		}
	}
	if p := sound(offer.Price{Known: true, USDPerHour: "2", USDPerHourAtMost: "-1"}); p.Known {
		t.Errorf("%+v is believed", p)
	}
}
