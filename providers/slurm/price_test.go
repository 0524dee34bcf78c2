package slurm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestCharged: a price for a unit of billing is told for each GPU, or core; that
// of a job which has its nodes for itself, for each node with all that it has.
func TestCharged(t *testing.T) {
	t.Parallel()
	plain := &cluster.Partition{CPUs: 64, GPUs: map[string]int{"a100": 3}}
	own := &cluster.Partition{CPUs: 64, GPUs: map[string]int{"a100": 3}, Exclusive: true}
	two := offer.Shape{CPUs: 4, Memory: 8 << 30, GPUs: 2, Nodes: 1}
	for name, c := range map[string]struct {
		price      offer.Price
		perBilling string
		l          *cluster.Partition
		shape      offer.Shape
		exclusive  bool
		want       offer.Price
	}{
		"billing of 4 cores at 0.5, by 2 GPUs": {offer.Price{Known: true}, "0.5", plain, two, false, offer.Price{Known: true, SUPerGPUHour: "1"}},
		"billing by cores":                     {offer.Price{}, "0.5", plain, offer.Shape{CPUs: 4}, false, offer.Price{Known: true, SUPerCPUHour: "0.5"}},
		"charged otherwise":                    {offer.Price{SUPerGPUHour: "7"}, "", plain, two, false, offer.Price{SUPerGPUHour: "7"}},
		"billing of whole nodes":               {offer.Price{}, "0.5", plain, offer.Shape{CPUs: 4, Nodes: 2}, true, offer.Price{Known: true, SUPerNodeHour: "32", CPUs: 128, GPUs: 6}},
		"GPUs of whole nodes":                  {offer.Price{SUPerGPUHour: "7"}, "", plain, two, true, offer.Price{SUPerNodeHour: "21", CPUs: 64, GPUs: 3}},
		"a partition that gives whole nodes":   {offer.Price{SUPerCPUHour: "0.25"}, "", own, offer.Shape{CPUs: 1}, false, offer.Price{SUPerNodeHour: "16", CPUs: 64, GPUs: 3}},
		"billing is known by now":              {offer.Price{Known: true, UnknownSU: true}, "0.5", plain, two, false, offer.Price{Known: true, SUPerGPUHour: "1"}},
		"billing beside a rate for each GPU":   {offer.Price{Known: true, SUPerGPUHour: "7"}, "0.5", plain, two, false, offer.Price{Known: true, SUPerGPUHour: "8"}},
		"billing beside rates of whole nodes":  {offer.Price{Known: true, SUPerGPUHour: "7", SUPerNodeHour: "1"}, "0.5", own, two, false, offer.Price{Known: true, SUPerNodeHour: "54", CPUs: 64, GPUs: 3}},
		"billing of GPUs that are given":       {offer.Price{Known: true}, "1", plain, offer.Shape{CPUs: 4, GPUs: 3, Nodes: 2}, false, offer.Price{Known: true, SUPerGPUHour: "1"}},
		"no price where others have one":       {offer.Price{Known: true, UnknownSU: true}, "", own, two, false, offer.Price{Known: true, UnknownSU: true, CPUs: 64, GPUs: 3}},
		"no price is none of whole nodes":      {offer.Price{Known: true}, "", own, offer.Shape{CPUs: 1}, false, offer.Price{Known: true, CPUs: 64, GPUs: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := charged(c.price, c.perBilling, &cluster.Facts{}, c.l, c.shape, Options{Exclusive: c.exclusive}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestPricesOfASite: prices in money in a backend block do not change the profile's service
// units. A partition without a rate, beside others that have one, has an unknown price,
// whether the profile has the partition or not, and whether the cluster was asked or not.
func TestPricesOfASite(t *testing.T) {
	t.Parallel()
	const head = "site = \"x\"\nverified = \"2026-05\"\n"
	part := func(name, price string) string {
		return "partition \"" + name + "\" {\n  max_time = \"1h\"\n  price {\n" + price + "\n}\n}\n"
	}
	const bare = "partition \"bare\" {\n  max_time = \"1h\"\n}\n"
	node := part("paid", "service_units_per_node_hour = 4")
	live := &cluster.Facts{Partitions: []cluster.Partition{{Name: "paid", Up: true, CPUs: 8}, {Name: "bare", Up: true, CPUs: 8}, {Name: "new", Up: true, CPUs: 8}}}
	unknown, free := offer.Price{Known: true, UnknownSU: true}, offer.Price{Known: true}
	four := offer.Price{Known: true, SUPerNodeHour: "4"}
	for name, c := range map[string]struct {
		profile         string // "" = none
		block           offer.Price
		paid, bare, new offer.Price
	}{
		"no profile":                        {"", offer.Price{}, free, free, free},
		"nothing is charged":                {head + bare + "partition \"paid\" {\n  max_time = \"1h\"\n}\n", offer.Price{}, free, free, free},
		"one is charged":                    {head + node + bare, offer.Price{}, four, unknown, unknown},
		"by what only the cluster reckons":  {head + part("paid", "service_units_per_billing_hour = 4") + bare, offer.Price{}, offer.Price{Known: true, UnknownSU: true}, unknown, unknown},
		"whole nodes of no price":           {head + node + part("bare", "whole_node = true"), offer.Price{}, four, offer.Price{Known: true, UnknownSU: true}, unknown},
		"the other is said to be free":      {head + node + part("bare", "service_units_per_node_hour = 0"), offer.Price{}, four, offer.Price{Known: true, SUPerNodeHour: "0"}, unknown},
		"the block says what all charge":    {head + node + bare, offer.Price{Known: true, SUPerCPUHour: "2"}, offer.Price{Known: true, SUPerCPUHour: "2"}, offer.Price{Known: true, SUPerCPUHour: "2"}, offer.Price{Known: true, SUPerCPUHour: "2"}},
		"the block says that all are free":  {head + node + bare, offer.Price{Known: true, SUPerCPUHour: "0"}, offer.Price{Known: true, SUPerCPUHour: "0"}, offer.Price{Known: true, SUPerCPUHour: "0"}, offer.Price{Known: true, SUPerCPUHour: "0"}},
		"the block says what money charges": {head + node + bare, offer.Price{Known: true, USDPerHour: "1"}, offer.Price{Known: true, USDPerHour: "1", SUPerNodeHour: "4"}, offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := providers.Backend{Name: "slurm.x", Price: c.block}
			if c.profile != "" {
				config.Profile, config.ProfileSource = "site.hcl", c.profile
			}
			b, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]offer.Price{"paid": c.paid, "bare": c.bare, "new": c.new}
			for i := range live.Partitions {
				if p := b.pool(live, &live.Partitions[i]); p.Price != want[p.Name] {
					t.Errorf("%s, asked: %+v, not %+v", p.Name, p.Price, want[p.Name])
				}
			}
			if c.profile == "" {
				return
			}
			for _, p := range b.known("it is away") {
				if p.Price != want[p.Name] {
					t.Errorf("%s, away: %+v, not %+v", p.Name, p.Price, want[p.Name])
				}
			}
		})
	}
}

// TestChargedForMemory: a core has 1000M here at most, so that a job of one core
// and 8000M is given eight, and charged for them: in accounting 22.05 wrote cpu=8,
// billing=8. A site that charges whole nodes charges no more for it.
func TestChargedForMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ price, cpu, node string }{
		"by cores":    {"service_units_per_cpu_hour = 0.5", "0.5", ""},
		"by billing":  {"service_units_per_billing_hour = 0.5", "0.5", ""},
		"both":        {"service_units_per_cpu_hour = 1\nservice_units_per_billing_hour = 0.5", "1.5", ""},
		"by nodes":    {"service_units_per_node_hour = 3", "", "3"},
		"whole nodes": {"service_units_per_cpu_hour = 0.5\nwhole_node = true", "0.5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				if !slices.Contains(argv, "partition") {
					return nil
				}
				return &command.Result{Out: []byte("PartitionName=amilan AllowQos=ALL MaxTime=1-00:00:00 TotalNodes=2 State=UP MaxMemPerCPU=1000\n")}
			}
			k.b.Profile, k.b.ProfileSource = "site.hcl", "site = \"x\"\nverified = \"2026-05\"\npartition \"amilan\" {\nmax_time = \"1d\"\nprice {\n"+c.price+"\n}\n}\n"
			k.restart()
			q := k.quotes(offer.Shape{CPUs: 1, Nodes: 1, Memory: 8000 << 20})["amilan"]
			if q.Price.SUPerCPUHour != c.cpu || q.Price.SUPerNodeHour != c.node || q.Price.CPUs != 8 {
				t.Errorf("%+v, want %q for each of 8 cores and %q for the node", q.Price, c.cpu, c.node)
			}
		})
	}
}

// TestGivenIsQuoted: the quote has the cores that a job is given, as its hours count them:
// with one thread on each core it has the other one, too.
func TestGivenIsQuoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		cpus    int
		want    int
	}{
		"whole cores":              {"{}", 4, 0},
		"half a core":              {"{}", 3, 4},
		"one thread on each":       {`{"extra": ["--hint=nomultithread"]}`, 4, 8},
		"one thread on each, too":  {`{"extra": ["--threads-per-core=1"]}`, 3, 6},
		"one as the program does":  {`{"extra": ["--hint=compute_bound"]}`, 3, 6},
		"both threads, as it says": {`{"extra": ["--threads-per-core=2"]}`, 4, 0},
		"nodes for itself":         {`{"exclusive": true}`, 4, 64},
		"nodes filled":             {`{"exclusive": true}`, 64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				var out string
				switch {
				case slices.Contains(argv, "partition"):
					out = "PartitionName=amilan AllowQos=ALL MaxTime=1-00:00:00 TotalNodes=2 State=UP\n"
				case slices.Contains(argv, "config"):
					out = "SelectTypeParameters = CR_CORE\n"
				case slices.Contains(argv, "nodes"):
					out = "NodeName=cpu1 CPUTot=64 ThreadsPerCore=2 Partitions=amilan\n"
				case argv[0] == "sinfo":
					out = fmt.Sprintf("%-64s%-64s%-24s%-32s%-16s%-256s%-256s%-256s\n", "cpu1", "amilan*", "idle", "0/64/0/64", "256000", "(null)", "(null)", "(null)")
				default:
					return nil
				}
				return &command.Result{Out: []byte(out)}
			}
			k.restart()
			if q := k.quotes(offer.Shape{CPUs: c.cpus, Nodes: 1, Options: c.options})["amilan"]; q.Price.CPUs != c.want {
				t.Errorf("%d cores, want %d: %+v", q.Price.CPUs, c.want, q)
			}
		})
	}
}
